//! The protocol: requests of a client in, answers out. Traces are loaded and asked on a thread of their own, one question
//! after the other.

use crate::allowed::Allowed;
use crate::answer::{Answer, Bounded, Bounds};
use crate::args::{Load, Page};
use crate::data::Data;
use crate::source::{FetchFrom, LoadProgress, Source};
use crate::texts::{DOCUMENTS, Document, GUIDES, INSTRUCTIONS};
use crate::tool::{self, Entry, TOOLS};
use pathlight_trace::hash_text;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, GetPromptRequestParams,
    GetPromptResponse, GetPromptResult, Implementation, JsonObject, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ProgressNotificationParam, Prompt, PromptArgument, PromptMessage, ReadResourceRequestParams,
    ReadResourceResponse, ReadResourceResult, Resource, ResourceContents, Role, ServerCapabilities,
    ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::Value;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Time between two notifications of progress.
const TICK: Duration = Duration::from_millis(500);
/// Traces that are fetched unless another number is asked for.
const FETCHED: u32 = 1000;
/// Time that is looked back unless another is asked for.
const SINCE: &str = "1h";

/// The place of traces to load.
enum From {
    Files(Vec<PathBuf>),
    Service(FetchFrom),
}

/// What is loaded, or why nothing is.
#[derive(Default)]
struct State {
    data: Option<Data>,
    /// Files that the command line named, until they are loaded.
    first: Option<[Vec<PathBuf>; 2]>,
    /// Why nothing is loaded.
    why: String,
    generation: u64,
}

/// The server; clones share what is loaded.
#[derive(Clone)]
pub struct Server {
    state: Arc<Mutex<State>>,
    source: Arc<dyn Source>,
    allowed: Arc<Allowed>,
    progress: Arc<LoadProgress>,
}

impl Server {
    /// Returns a server that loads these files, and those to compare them with, before it answers the first question.
    pub fn new(source: Arc<dyn Source>, allowed: Allowed, first: [Vec<PathBuf>; 2]) -> Server {
        let why = "nothing is loaded: call load first".to_owned();
        let first = Some(first).filter(|[files, _]| !files.is_empty());
        let state = Arc::new(Mutex::new(State { first, why, ..State::default() }));
        Server { state, source, allowed: Arc::new(allowed), progress: Arc::default() }
    }

    /// Loads the first files, if nobody has yet.
    pub fn warm_up(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        self.load_first(&mut state);
    }

    fn load_first(&self, state: &mut State) {
        if let Some([files, baseline]) = state.first.take()
            && let Err(why) = self.read(state, &From::Files(files), &baseline)
        {
            state.why = why;
        }
    }

    fn read(&self, state: &mut State, from: &From, baseline: &[PathBuf]) -> Result<(), String> {
        state.data = None;
        self.progress.begin();
        let loaded = match from {
            From::Files(files) => self.source.load([files, baseline], &self.progress)?,
            From::Service(service) => self.source.fetch(service, baseline, &self.progress)?,
        };
        state.generation += 1;
        state.data = Some(Data::new(loaded, !baseline.is_empty(), state.generation));
        Ok(())
    }

    /// Answers a call. It may take long.
    fn answer(&self, tool: &'static Entry, arguments: JsonObject) -> Result<Bounded, String> {
        tool.check(&arguments)?;
        let arguments = Value::Object(arguments);
        let page: Page = serde_json::from_value(arguments.clone())
            .map_err(|error| format!("the arguments are wrong: {error}"))?;
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(run) = tool.run else {
            return self.load(&mut state, arguments, &page);
        };
        self.load_first(&mut state);
        let State { data, why, .. } = &mut *state;
        let Some(data) = data else { return Err(why.clone()) };
        let question = question(tool.name, &arguments, data.generation);
        let bounds = Bounds::of(tool.name, question, page.budget, page.cursor.as_deref())?;
        data.from = bounds.from;
        Ok(run(data, arguments)?.within(&bounds))
    }

    fn load(&self, state: &mut State, arguments: Value, page: &Page) -> Result<Bounded, String> {
        let question = question("load", &arguments, 0);
        let bounds = Bounds::of("load", question, page.budget, page.cursor.as_deref())?;
        let wanted: Load =
            serde_json::from_value(arguments).map_err(|error| format!("the arguments are wrong: {error}"))?;
        // What a cursor asks for is loaded.
        if bounds.from == 0 || state.data.is_none() {
            state.first = None;
            state.why = "nothing is loaded: the last load failed".to_owned();
            let baseline = self.files(&wanted.baseline)?;
            self.read(state, &self.from(&wanted)?, &baseline)?;
        }
        let from = bounds.from;
        let answer = state.data.as_ref().map_or_else(Answer::default, |data| tool::loaded(data, from));
        Ok(answer.within(&bounds))
    }

    /// Returns the files that names mean, all within the allowed folders.
    fn files(&self, names: &[String]) -> Result<Vec<PathBuf>, String> {
        let named: Vec<PathBuf> = names.iter().map(PathBuf::from).collect();
        named.iter().try_for_each(|path| self.allowed.check(path))?;
        let files = self.source.list(&named)?;
        // A link in an allowed folder may lead out of it.
        files.iter().try_for_each(|path| self.allowed.check(path))?;
        Ok(files)
    }

    /// Returns where the traces are that a client wants loaded, if they may be read.
    fn from(&self, wanted: &Load) -> Result<From, String> {
        let (address, is_tempo) = match (&wanted.files[..], &wanted.jaeger, &wanted.tempo) {
            ([_, ..], None, None) => return Ok(From::Files(self.files(&wanted.files)?)),
            ([], Some(jaeger), None) => (jaeger, false),
            ([], None, Some(tempo)) => (tempo, true),
            _ => return Err("give one of files, jaeger and tempo".to_owned()),
        };
        self.allowed.check_address(address)?;
        Ok(From::Service(FetchFrom {
            address: address.clone(),
            is_tempo,
            service: wanted.service.clone(),
            since: wanted.since.clone().unwrap_or_else(|| SINCE.to_owned()),
            limit: wanted.limit.unwrap_or(FETCHED),
        }))
    }

    /// Answers a call on a thread of its own, and tells the client that it goes on.
    async fn call(
        &self,
        tool: &'static Entry,
        arguments: JsonObject,
        context: RequestContext<RoleServer>,
    ) -> Result<Bounded, String> {
        let server = self.clone();
        let mut answer = tokio::task::spawn_blocking(move || server.answer(tool, arguments));
        let token = context.meta.get_progress_token();
        let mut ticks = 0_u32;
        loop {
            tokio::select! {
                done = &mut answer => {
                    return done.unwrap_or_else(|_| Err("the question failed inside Pathlight; this is a defect".to_owned()));
                }
                () = tokio::time::sleep(TICK) => {}
            }
            ticks += 1;
            if let Some(token) = &token {
                let waited = f64::from(ticks) * TICK.as_secs_f64();
                let note = ProgressNotificationParam::new(token.clone(), waited);
                let note = note.with_message(self.progress.words(tool.name));
                // A client that is gone hears nothing, and the next write says so.
                let _ = context.peer.notify_progress(note).await;
            }
        }
    }
}

/// Returns the number of a question: its tool, its arguments but those of the page, and the state of the data.
fn question(tool: &str, arguments: &Value, generation: u64) -> u64 {
    let mut asked = arguments.clone();
    if let Some(map) = asked.as_object_mut() {
        map.remove("budget");
        map.remove("cursor");
    }
    hash_text(&format!("{tool} {generation} {asked}"))
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities =
            ServerCapabilities::builder().enable_tools().enable_resources().enable_prompts().build();
        let program = Implementation::new("pathlight", env!("CARGO_PKG_VERSION")).with_title("Pathlight");
        ServerConfig::new(capabilities).with_server_info(program).with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(TOOLS.iter().map(Entry::tool).collect()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        Entry::named(name).map(Entry::tool)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let unknown = || ErrorData::invalid_params(format!("there is no tool {:?}", request.name), None);
        let tool = Entry::named(&request.name).ok_or_else(unknown)?;
        let arguments = request.arguments.unwrap_or_default();
        // What cannot be answered is said to the model, which can ask better.
        let result = match self.call(tool, arguments, context).await {
            Ok(Bounded { text, structured }) => {
                let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
                result.structured_content = Some(structured);
                result
            }
            Err(words) => CallToolResult::error(vec![ContentBlock::text(words)]),
        };
        Ok(result.into())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let resource = |document: &Document| {
            Resource::new(document.uri(), document.name)
                .with_description(document.about)
                .with_mime_type("text/markdown")
                .with_size(document.text().len() as u64)
        };
        Ok(ListResourcesResult::with_all_items(DOCUMENTS.iter().map(resource).collect()))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(Vec::new()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let unknown = || ErrorData::resource_not_found(format!("there is no {:?}", request.uri), None);
        let document = Document::at(&request.uri).ok_or_else(unknown)?;
        let text = ResourceContents::text(document.text(), request.uri).with_mime_type("text/markdown");
        Ok(ReadResourceResult::new(vec![text]).into())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let prompts = GUIDES.iter().map(|guide| {
            let argument = |(name, about): &(&str, &str)| PromptArgument::new(*name).with_description(*about);
            let arguments = guide.arguments.iter().map(argument).collect();
            Prompt::new(guide.name, Some(guide.about), Some(arguments))
        });
        Ok(ListPromptsResult::with_all_items(prompts.collect()))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let unknown = || ErrorData::invalid_params(format!("there is no prompt {:?}", request.name), None);
        let guide = GUIDES.iter().find(|guide| guide.name == request.name).ok_or_else(unknown)?;
        let given = request.arguments.unwrap_or_default();
        let argument = |name: &str| given.get(name).and_then(Value::as_str).unwrap_or_default();
        let text = guide.text(argument("files"), argument("baseline"));
        let message = PromptMessage::new_text(Role::User, text);
        Ok(GetPromptResult::new(vec![message]).with_description(guide.about).into())
    }
}
