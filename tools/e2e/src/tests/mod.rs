//! The tests. A new one is an async function of a module here and a line in [`ALL`].

mod access;
mod anomalies;
mod answers;
mod bad_input;
mod compare;
mod diagnosis;
mod drop;
mod embed;
mod errors;
mod faults;
mod filters;
mod findings;
mod flow;
mod following;
mod heat;
mod hostile;
mod hosting;
mod jaeger;
mod jaeger_panel;
mod jaeger_ui;
mod library;
mod loading;
mod looks;
mod mapping;
mod messages;
mod offline;
mod pictures;
mod privacy;
mod real;
mod report;
mod sampling;
mod soak;
mod soak_listen;
mod start;
mod summaries;
mod tables;
mod tabs;
mod tasks;
mod variants;
mod views;
mod walk;

use std::pin::Pin;

use e2e::browser::Page;
use e2e::failure::Outcome;

/// A test: opens the page itself, gets it in a window of 1280 by 800 with nothing stored.
#[derive(Clone, Copy)]
pub struct Test {
    /// Module and function.
    pub name: &'static str,
    /// Its steps.
    pub run: for<'a> fn(&'a Page) -> Pin<Box<dyn Future<Output = Outcome> + 'a>>,
}

macro_rules! tests {
    ($($module:ident :: $name:ident),* $(,)?) => {
        &[$(Test { name: concat!(stringify!($module), "::", stringify!($name)), run: |page| Box::pin($module::$name(page)) }),*]
    };
}

/// Those that run in Firefox as well, after all others.
pub const IN_FIREFOX: &[Test] = tests![
    loading::one_worker_many_and_the_binary_write_the_same_reports,
    jaeger::both_dialects_give_the_same_traces_and_a_link_reproduces_them,
    jaeger::tempo_is_searched_directly_and_through_grafana,
    jaeger::a_login_is_told_from_a_dead_address,
    jaeger_ui::the_panel_follows_search_and_trace_pages,
    jaeger_ui::the_panel_stands_beside_jaeger_ui_and_its_width_is_remembered,
    jaeger_ui::the_panel_covers_neither_sidebar_nor_assistant_nor_wide_tables,
    jaeger_ui::following_a_selection_keeps_the_traces_and_finds_every_span,
    jaeger_ui::every_search_of_jaeger_ui_is_handed_over,
    jaeger_ui::the_menu_opens_what_is_shown,
    jaeger_ui::an_expired_session_and_a_refused_frame_are_said_with_a_way_out,
    jaeger_ui::two_frames_side_by_side_follow_each_other,
    tabs::back_from_another_page_everything_is_there_or_offered_again,
    library::the_example_shows_what_the_binary_says,
    library::it_reads_in_the_page_where_no_worker_can_be_started,
];

/// Those that take long: `cargo xtask soak` runs them.
pub const LONG: &[Test] = tests![
    soak::three_hundred_rounds_in_one_tab_leave_nothing_behind,
    soak::five_thousand_files_at_once_are_read,
    soak::a_million_traces_are_read,
    soak::five_million_spans_are_read_or_a_sample_is_offered,
    soak::a_million_services_operations_and_tag_keys_are_read_or_the_limit_is_said,
    soak::one_worker_many_and_the_binary_say_the_same,
    soak::a_server_under_many_connections_stays_small_and_answers,
    soak_listen::a_day_of_exports_is_taken_and_memory_stays_small,
    faults::workers_that_go_silent_or_deaf_in_any_view_are_replaced_and_it_shows_the_same,
    hostile::names_of_a_megabyte_do_not_hold_up_the_page,
];

/// Those that take long in Firefox: one of them, and others for which every run of the tests would wait for minutes.
pub const LONG_IN_FIREFOX: &[Test] = tests![
    soak::one_worker_many_and_the_binary_say_the_same,
    tabs::two_tabs_with_the_same_data_leave_each_other_alone,
    hostile::markup_and_marks_in_names_are_text_in_every_view,
    hostile::names_of_a_megabyte_do_not_hold_up_the_page,
    hostile::tens_of_thousands_of_services_are_searched_not_listed,
    faults::workers_that_end_in_any_view_are_replaced_and_it_shows_the_same,
    faults::workers_that_go_silent_or_deaf_in_any_view_are_replaced_and_it_shows_the_same,
    faults::workers_that_end_in_a_search_a_question_or_a_report_are_replaced,
    faults::workers_that_end_while_files_are_read_are_replaced,
    faults::a_file_that_changes_or_vanishes_while_it_is_read_is_named,
    faults::a_file_of_the_server_that_breaks_off_or_asks_for_a_login_is_said,
    faults::a_file_that_leads_to_another_server_is_fetched_if_the_user_agrees,
    faults::refused_and_full_storage_take_nothing_but_what_is_remembered,
    faults::lost_canvases_are_painted_again_and_without_any_the_tables_stay,
    faults::a_refused_clipboard_and_service_worker_are_said,
];

/// Every other test, in the order they run.
pub const ALL: &[Test] = tests![
    start::the_page_comes_up_empty,
    start::four_views_are_shown_in_small_pictures,
    start::the_start_page_is_seen_before_the_program_has_come,
    start::a_program_that_does_not_come_is_reported_in_place_of_the_start_page,
    start::the_start_page_does_not_wait_for_the_module_of_the_workers,
    start::that_the_module_of_the_workers_does_not_come_is_reported,
    drop::a_dropped_file_shows_the_numbers_of_the_binary,
    drop::request_types_show_counts_and_percentiles_of_their_requests,
    drop::a_second_drop_asks_and_can_be_undone,
    drop::request_types_stay_as_they_are_while_more_is_loaded,
    drop::what_is_opened_besides_is_asked_about,
    drop::a_folder_and_packed_files_are_read,
    drop::a_large_packed_file_gives_what_it_gives_unpacked,
    drop::a_large_folder_says_what_it_has_so_far_and_can_be_left,
    drop::a_file_that_comes_while_a_view_is_worked_out_is_read_after_it,
    drop::a_drop_of_very_many_files_is_named_after_a_reload_but_not_opened_in_part,
    drop::the_demo_loads_with_a_click,
    loading::a_file_in_chunks_shows_what_one_reader_shows,
    loading::a_load_that_is_stopped_keeps_what_was_read,
    loading::a_load_that_is_cancelled_leaves_nothing,
    loading::text_is_pasted,
    loading::what_does_not_fit_is_said_before_and_a_sample_is_offered,
    loading::many_small_files_are_read,
    loading::a_very_large_file_stays_within_its_memory,
    loading::one_worker_many_and_the_binary_write_the_same_reports,
    bad_input::each_kind_has_its_sentence_on_an_empty_page,
    bad_input::what_is_loaded_stays,
    mapping::a_guess_is_shown_with_its_first_rows_and_corrected_by_menus,
    mapping::a_mapping_is_remembered_for_its_shape_and_saved_for_the_binary,
    faults::workers_that_end_in_any_view_are_replaced_and_it_shows_the_same,
    faults::workers_that_end_in_a_search_a_question_or_a_report_are_replaced,
    faults::workers_that_end_while_files_are_read_are_replaced,
    faults::a_file_that_changes_or_vanishes_while_it_is_read_is_named,
    faults::a_file_of_the_server_that_breaks_off_or_asks_for_a_login_is_said,
    faults::a_file_that_leads_to_another_server_is_fetched_if_the_user_agrees,
    faults::refused_and_full_storage_take_nothing_but_what_is_remembered,
    faults::a_frozen_tab_goes_on_when_it_is_looked_at_again,
    faults::lost_canvases_are_painted_again_and_without_any_the_tables_stay,
    faults::memory_that_ends_in_every_worker_is_said_and_what_fits_is_shown,
    tabs::back_from_another_page_everything_is_there_or_offered_again,
    tabs::two_tabs_with_the_same_data_leave_each_other_alone,
    loading::a_second_large_drop_during_a_load_is_read_too,
    faults::a_refused_clipboard_and_service_worker_are_said,
    hostile::markup_and_marks_in_names_are_text_in_every_view,
    hostile::tens_of_thousands_of_services_are_searched_not_listed,
    views::the_flame_graph_has_the_nodes_of_the_binary_in_every_percentile_range,
    views::services_take_the_place_of_endpoints,
    views::a_service_is_isolated_and_hidden_by_the_legend,
    views::from_a_frame_to_its_exemplars_to_a_timeline,
    views::siblings_share_a_row_and_the_path_is_walked,
    views::three_flame_graphs_stand_side_by_side_and_mark_the_same_path,
    views::columns_are_drawn_wider_and_chosen_and_stay_so,
    views::a_selected_endpoint_is_shown_in_the_other_views,
    pictures::a_picture_of_two_sets_names_them_the_selection_and_the_date,
    pictures::a_picture_shows_the_whole_chart_whatever_is_in_sight,
    answers::back_after_a_click_on_a_bar_stays_in_the_page,
    answers::two_files_that_are_a_pair_are_compared_with_one_click,
    answers::with_two_sets_every_view_speaks_of_the_second,
    answers::shares_of_request_types_follow_the_filters,
    answers::tips_of_a_flame_graph_are_short_and_begin_with_a_name,
    answers::the_largest_part_of_a_trace_leads_to_its_span,
    answers::a_slow_request_stands_beside_a_normal_one,
    answers::a_split_opens_on_a_tag_that_tells_or_says_that_none_does,
    answers::the_palette_knows_tags,
    answers::charts_take_the_height_they_need,
    answers::a_flow_opens_where_calls_could_run_side_by_side,
    answers::errors_say_what_happened_and_when,
    answers::views_say_of_how_many_endpoints_they_speak,
    answers::one_request_compared_with_itself_is_said_to_be_the_same,
    answers::a_service_says_since_when_it_is_the_reason,
    answers::a_change_inside_one_file_is_offered_as_before_and_after,
    findings::cards_say_what_the_binary_finds_and_lead_to_it,
    findings::views_begin_with_the_first_finding,
    findings::a_search_dims_counts_and_steps_through_cards_too,
    findings::tags_that_tell_the_slow_requests_filter_by_one_click,
    views::every_view_is_there_with_its_numbers,
    views::back_and_forward_go_through_the_views_and_a_link_reproduces_one,
    views::a_search_tells_the_share_that_matches,
    views::the_keys_are_listed_and_every_control_has_a_name,
    views::help_begins_with_the_guide_of_the_view,
    views::words_lead_to_the_glossary_and_columns_say_over_which_requests,
    views::a_name_is_cut_in_the_middle_once_its_service_has_given_way,
    views::dark_and_narrow_pages_are_whole,
    looks::every_view_looks_as_it_did,
    tasks::each_of_seven_questions_takes_at_most_two_clicks,
    views::a_chain_and_a_fan_of_100_000_spans_are_shown,
    access::nothing_stands_against_the_rules_in_any_view_and_dialog,
    access::the_palette_runs_commands_and_finds_views_services_and_endpoints,
    access::what_was_open_comes_back_or_is_named_after_a_reload,
    access::picked_files_are_opened_again_with_a_click,
    access::the_page_says_its_version_and_what_is_built_in,
    access::a_table_shows_five_rows_in_a_narrow_window,
    access::tool_rows_stay_within_a_narrow_window_and_what_was_done_covers_no_row,
    access::forced_colours_leave_what_is_chosen_an_edge_and_canvases_their_colours,
    access::nothing_moves_where_motion_is_unwelcome,
    access::the_frame_is_as_high_whatever_is_selected,
    access::brush_splitter_and_selection_have_keys_and_are_announced,
    tables::the_summary_is_copied_as_the_binary_writes_it,
    tables::endpoints_are_ranked_as_by_the_binary,
    tables::the_numbers_of_a_tag_are_a_column_as_the_binary_sums_them,
    tables::from_an_endpoint_to_its_place_in_a_flame_graph,
    tables::histograms_are_enlarged_and_saved,
    tables::a_split_has_the_percentiles_of_the_binary,
    tables::a_split_proposes_a_version_that_is_slower_and_shows_it,
    tables::tables_are_whole_on_any_page,
    sampling::numbers_of_sampled_traces_go_by_weight_and_agree_and_a_switch_turns_that_off,
    sampling::a_tag_of_ones_own_says_weights,
    errors::errors_are_said_drawn_and_listed_as_the_binary_has_them,
    errors::without_errors_the_view_says_so,
    filters::a_tag_filter_is_suggested_and_holds_in_every_view,
    filters::errors_calls_and_times_are_filters_too,
    filters::a_search_by_tags_is_completed_counted_and_becomes_filters,
    summaries::a_summary_opens_like_traces_and_says_what_it_lacks,
    summaries::two_summaries_compare_as_the_binary_says,
    summaries::traces_are_judged_against_a_summary,
    summaries::a_week_of_summaries_says_since_when_it_is_slower,
    summaries::hours_of_the_day_that_are_slower_are_said,
    compare::the_tail_against_the_bulk_is_what_the_binary_says,
    compare::a_second_set_is_compared_and_let_go,
    heat::the_heat_map_has_the_rows_and_columns_of_the_binary,
    heat::rows_and_columns_that_are_alike_stand_together,
    heat::a_cell_opens_its_trace_and_a_brush_cuts_the_percentile_range,
    flow::the_picture_has_the_calls_of_the_binary,
    flow::it_opens_where_most_is_recoverable_and_keeps_its_model_behind_a_button,
    flow::a_call_leads_to_its_own_flow_and_back,
    flow::a_what_if_moves_the_whole_request_as_the_binary_says,
    flow::predictions_and_savings_are_those_of_the_binary,
    flow::a_target_says_what_has_to_be_faster_and_becomes_a_what_if,
    flow::calls_that_could_run_side_by_side_are_those_of_the_binary_and_become_a_what_if,
    flow::slower_places_are_those_of_the_binary_and_become_a_what_if,
    variants::variants_are_those_of_the_binary_with_what_decides_them,
    variants::the_cheapest_changes_of_a_what_if_are_those_of_the_binary,
    flow::headroom_is_that_of_the_binary_and_becomes_a_what_if,
    flow::a_dropped_table_says_where_to_add_and_where_to_take,
    flow::a_timeout_of_the_selected_call_cuts_what_the_binary_says,
    flow::a_hundred_calls_are_shown,
    flow::the_map_of_services_is_that_of_the_binary_and_leads_on,
    flow::the_map_of_two_sets_colours_what_surely_changed,
    flow::names_of_a_long_flow_are_not_cut_to_a_few_letters,
    messages::a_queue_leads_to_its_longest_message_on_one_axis,
    messages::until_done_is_chosen_and_every_view_follows,
    messages::a_queue_half_as_long_changes_requests_until_done,
    messages::linked_traces_are_fetched_with_a_click,
    flow::drag_and_slack_stand_in_the_timeline,
    walk::buttons_of_generated_sets_lead_to_what_they_say,
    walk::buttons_of_labelled_sets_lead_to_what_they_say,
    diagnosis::the_report_is_that_of_the_binary_and_its_lines_lead_to_evidence,
    diagnosis::the_tree_is_walked_with_arrow_keys,
    diagnosis::request_type_and_tail_stand_in_the_address,
    diagnosis::more_is_listed_on_request,
    diagnosis::the_slow_tail_and_two_sets_are_those_of_the_binary,
    diagnosis::without_whole_traces_the_view_says_why,
    diagnosis::real_traces_are_diagnosed,
    anomalies::the_abnormal_requests_are_those_of_the_binary,
    anomalies::a_chosen_request_stands_beside_the_normal_one_most_like_it,
    anomalies::another_set_or_an_earlier_time_is_normal,
    anomalies::an_auto_encoder_is_trained_watched_and_cancelled,
    anomalies::the_evaluation_has_the_figures_of_the_binary,
    anomalies::a_saved_model_finds_the_same_again,
    real::hotel,
    real::media,
    real::social_network,
    real::readings,
    jaeger::both_dialects_give_the_same_traces_and_a_link_reproduces_them,
    jaeger::tempo_is_searched_directly_and_through_grafana,
    jaeger::a_login_is_told_from_a_dead_address,
    jaeger::many_traces_come_in_slices,
    jaeger::traces_are_fetched_by_id_and_link_back,
    jaeger::a_slow_fetch_can_be_stopped_and_what_came_stays,
    jaeger::a_busy_and_failing_jaeger_is_asked_again,
    jaeger::another_origin_is_asked_only_with_consent_and_cors_is_explained,
    jaeger::the_policy_of_the_host_and_a_dead_address_are_told_apart,
    jaeger::a_closed_jaeger_wants_a_token_and_a_page_is_no_answer,
    jaeger::the_dialog_lists_and_fetches_and_its_address_reproduces,
    jaeger::all_services_are_searched_where_the_api_can,
    jaeger::a_tenant_is_named_and_remembered_only_if_asked,
    jaeger::files_beside_the_page_are_fetched,
    following::spans_that_a_program_sends_join_and_the_view_stays,
    following::a_file_is_followed_line_by_line_and_another_one_in_its_place_from_its_beginning,
    following::a_search_at_jaeger_goes_on_where_it_ended,
    hosting::any_path_will_do_and_nothing_else_is_asked_for,
    hosting::the_one_file_starts_from_disk_and_asks_for_nothing,
    hosting::the_one_file_starts_in_previews_and_says_what_a_part_of_it_lacks,
    hosting::a_host_without_headers_gets_the_policy_of_the_page,
    hosting::a_host_that_requires_trusted_types_is_no_matter,
    privacy::nothing_is_stored_but_settings,
    privacy::copies_exports_baselines_and_searches_ask_for_nothing_and_are_stored_nowhere,
    privacy::with_all_network_refused_everything_but_jaeger_works,
    embed::a_host_on_another_origin_hands_traces_over_and_hears_the_selection,
    embed::every_message_with_traces_has_its_answer,
    embed::what_the_user_refuses_is_not_followed,
    embed::messages_of_every_shape_change_nothing_and_end_nothing,
    embed::a_sandboxed_frame_needs_scripts_only,
    embed::an_admitted_origin_is_not_asked_about_again_and_a_narrow_frame_is_whole,
    library::the_example_shows_what_the_binary_says,
    library::it_reads_in_the_page_where_no_worker_can_be_started,
    jaeger_ui::the_panel_follows_search_and_trace_pages,
    jaeger_ui::the_panel_stands_beside_jaeger_ui_and_its_width_is_remembered,
    jaeger_ui::the_panel_covers_neither_sidebar_nor_assistant_nor_wide_tables,
    jaeger_ui::following_a_selection_keeps_the_traces_and_finds_every_span,
    jaeger_ui::every_search_of_jaeger_ui_is_handed_over,
    jaeger_ui::an_expired_session_and_a_refused_frame_are_said_with_a_way_out,
    jaeger_ui::two_frames_side_by_side_follow_each_other,
    jaeger_ui::the_menu_opens_what_is_shown,
    jaeger_panel::one_dialect_is_found_and_asked_from_then_on,
    jaeger_panel::a_busy_jaeger_is_waited_for_and_a_cut_connection_tried_once_more,
    jaeger_panel::what_jaeger_does_not_have_is_said,
    jaeger_panel::requests_like_a_trace_come_with_one_click_and_every_span_says_how_slow_it_is,
    jaeger_panel::two_compared_traces_become_sets_of_requests_like_them,
    jaeger_panel::more_than_jaeger_ui_shows_is_offered_and_saved_as_a_report,
    jaeger_panel::where_jaeger_ui_draws_another_path_is_said,
    offline::a_kept_page_opens_without_its_server,
    offline::what_another_server_answers_replaces_no_kept_page,
    offline::a_page_that_is_old_says_so_once_a_newer_one_is_kept,
    offline::the_one_file_shows_the_same_numbers_in_firefox,
    offline::every_view_shows_the_same_in_webkit,
    report::a_saved_report_opens_from_disk_with_every_view,
    report::a_report_of_two_sets_opens_with_both_and_their_names,
    report::the_binary_writes_the_same_report,
    report::what_is_left_out_is_in_no_report_note_or_link,
];
