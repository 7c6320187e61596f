//! The page's module in two parts: what the start page and the first findings need, and the rest, which follows once the
//! start page is shown.
//!
//! A function goes to the rest if its name tells of something in [`LATER`], or if only such functions call it. In the first
//! part a stub stands in its place:
//!
//! 1. Unless the rest is there, it calls the exported `load_rest` (src/rest.rs), which returns when the rest has started.
//! 2. It calls the function through the table. At its start the rest puts its functions there: in place of stubs that stand
//!    in the table, and behind its end for the others.
//!
//! So every call works at any time, and [`LATER`] decides about sizes alone; that the first view needs no rest is tested in
//! the browser. The rest shares memory, tables and globals with the first part and imports the functions it calls there,
//! under names that are a letter and a number.

use std::collections::{BTreeMap, BTreeSet};

use wasm_encoder::reencode::{self, Reencode, utils};
use wasm_encoder::{
    BlockType, CodeSection, ConstExpr, ElementSection, Elements, EntityType, ExportKind, ExportSection,
    Function, FunctionSection, GlobalSection, GlobalType, ImportSection, Instruction, Module, StartSection,
    TypeSection, ValType,
};
use wasmparser::{ElementItems, ElementKind, KnownCustom, Name, Operator, Parser, Payload, TypeRef};

use crate::Outcome;

/// Code that is not needed at first: what the other views show, what dialogs ask, formats that few files have. Modules
/// and what is in them: beginnings of paths, of a module (`tprof`) or of a method (`set::TraceSet>::retain`).
const LATER: &[(&str, &str)] = &[
    ("pathlight", "fetch"),
    (
        "pathlight::ui::shell",
        "fetching::Fetching>::follow_on fetching::Fetching>::job jaeger_dialog keys::show_help notes \
         palette redaction saved_report::Origin>::open saved_report::Origin>::save \
         selection_bar::List>::fill share",
    ),
    (
        "pathlight::ui::views",
        "anomalies compare diagnosis endpoints errors flame flow heatmap requests split trace trend",
    ),
    ("pathlight::ui::widgets", "chart_canvas companion"),
    (
        "pathlight_analysis",
        "anomaly critical_path::bottom_up critical_path::diff critical_path::heatmap \
         critical_path::histograms critical_path::proposals critical_path::split \
         critical_path::tag_values culprit flow::aggregate flow::calls \
         flow::changes flow::graph flow::nearest flow::nodes flow::observe flow::predict flow::prepare \
         flow::regression flow::report flow::savings flow::target flow::timeout flow::walk flow::whatif \
         search::matching tprof",
    ),
    ("pathlight_backend", "answer fields listing plan request trouble"),
    (
        "pathlight_chart",
        "anomalies caption curves dag flame heatmap multiples pair scene svg timeline::aggregate \
         timeline::groups timeline::layout timeline::minimap timeline::model timeline::paint \
         timeline::parts trend violin",
    ),
    ("pathlight_ingest", "document otel otlp rows wire::write zip"),
    (
        "pathlight_model",
        "trace::portable trace::reading::Reading>::parse trace::redact \
         trace::set::TraceSet>::forget_losers trace::set::TraceSet>::retain \
         trace::set::TraceSet>::without_traces",
    ),
    ("pathlight_query", "pool::serve::unload summaries"),
    (
        "pathlight_query::queries",
        "anomalies bottom_up compare culprit diagnosis find_spans flow:: heatmap histograms \
         names per_request proposals search split tag_values trend",
    ),
    ("pathlight_text", "format::markdown format::parse_utc"),
    (
        "pathlight_view",
        "anomalies choices::Choices>::read compare contract culprit diagnosis endpoints errors exported \
         flame::Flame flame::table flow_changes flow_prediction flow_timeout heatmap json redacted \
         requests saved search_help split::table summary tip trace trend",
    ),
    (
        "",
        "alloc::collections::btree compiler_builtins::math::libm_math::rem_pio2_large core::net \
         core::num::dec2flt flate2 pathlight_summary plotters_svg serde_json::error serde_json::ser \
         serde_json::value zlib_rs",
    ),
];

/// From so many bytes on, a function goes with the types it is generic over. Smaller ones of different types are often the
/// same, and one name stands for all.
const LARGE: usize = 240;

/// Returns the two parts of a module in which functions have names: the first, and the rest.
pub fn split(module: &[u8]) -> Outcome<(Vec<u8>, Vec<u8>)> {
    let facts = Facts::read(module).map_err(|error| format!("the module of the page: {error}"))?;
    let plan = facts.plan()?;
    let parts = plan.first(module).and_then(|first| Ok((first, plan.rest()?)));
    parts.map_err(|error| format!("the module of the page cannot be split: {error}"))
}

/// What is to be known of a module; functions are numbered with the imported ones first.
#[derive(Default)]
struct Facts<'a> {
    types: Vec<wasmparser::FuncType>,
    /// The type of each function.
    functions: Vec<u32>,
    bodies: Vec<wasmparser::FunctionBody<'a>>,
    names: BTreeMap<u32, &'a str>,
    /// Where functions stand in the table they are called through, which is table 0.
    slots: BTreeMap<u32, Vec<u32>>,
    tables: Vec<wasmparser::TableType>,
    memory: Option<wasmparser::MemoryType>,
    globals: Vec<wasmparser::GlobalType>,
    exported: BTreeSet<u32>,
    load: Option<u32>,
    /// It has something that wasm-bindgen does not write, and that is not regarded here.
    is_odd: bool,
}

impl<'a> Facts<'a> {
    fn read(module: &'a [u8]) -> wasmparser::Result<Facts<'a>> {
        let mut facts = Facts::default();
        for payload in Parser::new(0).parse_all(module) {
            match payload? {
                Payload::TypeSection(section) => {
                    for kind in section.into_iter_err_on_gc_types() {
                        facts.types.push(kind?);
                    }
                }
                Payload::ImportSection(section) => {
                    for import in section.into_imports() {
                        match import?.ty {
                            TypeRef::Func(kind) => facts.functions.push(kind),
                            TypeRef::Table(table) => facts.tables.push(table),
                            TypeRef::Memory(memory) => facts.memory = Some(memory),
                            TypeRef::Global(global) => facts.globals.push(global),
                            TypeRef::Tag(_) | TypeRef::FuncExact(_) => {}
                        }
                    }
                }
                Payload::FunctionSection(section) => {
                    for kind in section {
                        facts.functions.push(kind?);
                    }
                }
                Payload::TableSection(section) => {
                    for table in section {
                        facts.tables.push(table?.ty);
                    }
                }
                Payload::MemorySection(section) => {
                    for memory in section {
                        facts.memory = Some(memory?);
                    }
                }
                Payload::GlobalSection(section) => {
                    for global in section {
                        facts.globals.push(global?.ty);
                    }
                }
                Payload::ExportSection(section) => {
                    for export in section {
                        let export = export?;
                        if export.kind == wasmparser::ExternalKind::Func {
                            facts.exported.insert(export.index);
                            if export.name == "load_rest" {
                                facts.load = Some(export.index);
                            }
                        }
                    }
                }
                Payload::ElementSection(section) => {
                    for element in section {
                        facts.element(element?)?;
                    }
                }
                Payload::StartSection { .. } => facts.is_odd = true,
                Payload::CodeSectionEntry(body) => facts.bodies.push(body),
                Payload::CustomSection(section) => {
                    if let KnownCustom::Name(names) = section.as_known() {
                        for part in names {
                            let Name::Function(names) = part? else { continue };
                            for name in names {
                                let name = name?;
                                facts.names.insert(name.index, name.name);
                            }
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(facts)
    }

    /// Takes note of where an element segment places functions.
    fn element(&mut self, element: wasmparser::Element<'a>) -> wasmparser::Result<()> {
        if let ElementKind::Active { table_index: None | Some(0), offset_expr } = element.kind
            && let Operator::I32Const { value } = offset_expr.get_operators_reader().read()?
            && let ElementItems::Functions(functions) = element.items
        {
            for (slot, function) in (value as u32..).zip(functions) {
                self.slots.entry(function?).or_default().push(slot);
            }
        } else {
            self.is_odd = true;
        }
        Ok(())
    }

    fn imported(&self) -> usize {
        self.functions.len() - self.bodies.len()
    }

    fn kind(&self, function: u32) -> (u32, &wasmparser::FuncType) {
        let kind = self.functions[function as usize];
        (kind, &self.types[kind as usize])
    }

    /// Returns the functions a body names.
    fn called(&self, body: &wasmparser::FunctionBody<'a>) -> wasmparser::Result<Vec<u32>> {
        let mut called = Vec::new();
        let mut operators = body.get_operators_reader()?;
        while !operators.eof() {
            if let Operator::Call { function_index }
            | Operator::ReturnCall { function_index }
            | Operator::RefFunc { function_index } = operators.read()?
            {
                called.push(function_index);
            }
        }
        Ok(called)
    }

    fn plan(self) -> Outcome<Plan<'a>> {
        let load = self.load.ok_or("the module exports no load_rest")?;
        if self.is_odd {
            return Err("the module has a start function, or functions elsewhere than in table 0".to_owned());
        }
        let imported = self.imported() as u32;
        let later = later();
        let names: BTreeMap<u32, String> =
            self.names.iter().map(|(&function, name)| (function, without_hashes(name))).collect();
        for path in later.iter().filter(|path| !names.values().any(|name| name.contains(*path))) {
            eprintln!(
                "LATER in tools/xtask/src/split.rs lists {path}, and nothing in the module is called so."
            );
        }
        let is_named_later = |function: u32| {
            let size = self.bodies[(function - imported) as usize].as_bytes().len();
            function != load && names.get(&function).is_some_and(|name| is_later(&later, name, size))
        };
        let mut calls = Vec::with_capacity(self.bodies.len());
        for body in &self.bodies {
            calls.push(self.called(body).map_err(|error| error.to_string())?);
        }
        let all = imported..self.functions.len() as u32;
        let named: BTreeSet<u32> = all.clone().filter(|&function| is_named_later(function)).collect();
        // What can be reached without those stays; what only they call goes with them.
        let reach = |from: &mut dyn Iterator<Item = u32>, is_passed: &dyn Fn(u32) -> bool| {
            let mut waiting: Vec<u32> = from.filter(|&function| is_passed(function)).collect();
            let mut reached: BTreeSet<u32> = waiting.iter().copied().collect();
            while let Some(function) = waiting.pop() {
                let called =
                    function.checked_sub(imported).into_iter().flat_map(|body| &calls[body as usize]);
                waiting.extend(called.filter(|&&called| is_passed(called) && reached.insert(called)));
            }
            reached
        };
        let mut roots = self.exported.iter().chain(self.slots.keys()).copied();
        let staying = reach(&mut roots, &|function| !named.contains(&function));
        let moved: BTreeSet<u32> = all.filter(|function| !staying.contains(function)).collect();
        // It would wait for itself.
        if !reach(&mut [load].into_iter(), &|_| true).is_disjoint(&moved) {
            return Err("load_rest calls a function of the rest".to_owned());
        }
        let (mut shared, mut called_later) = (BTreeSet::new(), BTreeSet::new());
        for (function, called) in (imported..).zip(&calls) {
            let into = if moved.contains(&function) { &mut shared } else { &mut called_later };
            into.extend(called.iter().filter(|called| moved.contains(called) != moved.contains(&function)));
        }
        called_later.extend(self.exported.intersection(&moved));
        let mut end = self.tables.first().ok_or("the module has no table")?.initial as u32;
        let mut slots: BTreeMap<u32, u32> = BTreeMap::new();
        for &function in &moved {
            if let Some(there) = self.slots.get(&function) {
                slots.insert(function, there[0]);
            } else if called_later.contains(&function) {
                slots.insert(function, end);
                end += 1;
            }
        }
        Ok(Plan { facts: self, load, moved, shared, slots, table_end: u64::from(end) })
    }
}

/// What goes where.
struct Plan<'a> {
    facts: Facts<'a>,
    load: u32,
    moved: BTreeSet<u32>,
    /// Functions of the first part that the rest calls.
    shared: BTreeSet<u32>,
    /// The place in the table through which the first part calls a function that has moved.
    slots: BTreeMap<u32, u32>,
    table_end: u64,
}

type Result<T = ()> = std::result::Result<T, reencode::Error<String>>;

impl Plan<'_> {
    /// Returns the number of the global that says whether the rest is there.
    fn flag(&self) -> u32 {
        self.facts.globals.len() as u32
    }

    fn first(&self, module: &[u8]) -> Result<Vec<u8>> {
        let mut out = Module::new();
        let mut part = First { plan: self, function: self.facts.imported() as u32, table: 0 };
        part.parse_core_module(&mut out, Parser::new(0), module)?;
        Ok(out.finish())
    }

    /// Returns what stands in the first part for a function that has moved.
    fn stub(&self, function: u32) -> Function {
        let mut stub = Function::new([]);
        let (type_index, kind) = self.facts.kind(function);
        if let Some(&slot) = self.slots.get(&function) {
            stub.instruction(&Instruction::GlobalGet(self.flag()))
                .instruction(&Instruction::I32Eqz)
                .instruction(&Instruction::If(BlockType::Empty))
                .instruction(&Instruction::Call(self.load))
                .instruction(&Instruction::End);
            for local in 0..kind.params().len() as u32 {
                stub.instruction(&Instruction::LocalGet(local));
            }
            stub.instruction(&Instruction::I32Const(slot as i32))
                .instruction(&Instruction::CallIndirect { type_index, table_index: 0 });
        } else {
            // Only the rest calls it.
            stub.instruction(&Instruction::Unreachable);
        }
        stub.instruction(&Instruction::End);
        stub
    }

    fn rest(&self) -> Result<Vec<u8>> {
        let facts = &self.facts;
        let (mut types, mut imports, mut functions) =
            (TypeSection::new(), ImportSection::new(), FunctionSection::new());
        let mut rest = Rest { numbers: self.shared.iter().chain(&self.moved).copied().zip(0..).collect() };
        for kind in &facts.types {
            types.ty().func_type(&rest.func_type(kind.clone())?);
        }
        let nothing = types.len();
        types.ty().function([], []);

        for &function in &self.shared {
            imports.import("", &name('f', function), EntityType::Function(facts.kind(function).0));
        }
        for (table, number) in facts.tables.iter().zip(0..) {
            imports.import("", &name('t', number), rest.table_type(self.table(number, *table))?);
        }
        if let Some(memory) = facts.memory {
            imports.import("", &name('m', 0), rest.memory_type(memory)?);
        }
        for (&global, number) in facts.globals.iter().zip(0..) {
            imports.import("", &name('g', number), rest.global_type(global)?);
        }
        imports.import("", &name('g', self.flag()), FLAG);

        let mut code = CodeSection::new();
        for &function in &self.moved {
            functions.function(facts.kind(function).0);
            let body = facts.bodies[function as usize - facts.imported()].clone();
            rest.parse_function_body(&mut code, body)?;
        }
        let start = self.shared.len() + self.moved.len();
        functions.function(nothing);
        let mut here = Function::new([]);
        here.instruction(&Instruction::I32Const(1))
            .instruction(&Instruction::GlobalSet(self.flag()))
            .instruction(&Instruction::End);
        code.function(&here);

        let mut filled = BTreeMap::new();
        for &function in &self.moved {
            let number = rest.function_index(function)?;
            let there = facts.slots.get(&function).into_iter().flatten().chain(self.slots.get(&function));
            filled.extend(there.map(|&slot| (slot, number)));
        }
        let mut elements = ElementSection::new();
        let filled: Vec<(u32, u32)> = filled.into_iter().collect();
        for run in filled.chunk_by(|before, after| before.0 + 1 == after.0) {
            let run_functions: Vec<u32> = run.iter().map(|(_, function)| *function).collect();
            let offset = ConstExpr::i32_const(run[0].0 as i32);
            elements.active(None, &offset, Elements::Functions(run_functions.into()));
        }

        let mut out = Module::new();
        out.section(&types).section(&imports).section(&functions);
        out.section(&StartSection { function_index: start as u32 });
        out.section(&elements).section(&code);
        Ok(out.finish())
    }

    /// Returns the type of a table, with room for what the first part calls of the rest.
    fn table(&self, number: u32, mut table: wasmparser::TableType) -> wasmparser::TableType {
        if number == 0 {
            table.initial = self.table_end;
            table.maximum = table.maximum.map(|most| most.max(self.table_end));
        }
        table
    }
}

/// Returns what [`LATER`] lists, as whole paths.
fn later() -> Vec<String> {
    let of = |(module, inside): &(&str, &str)| -> Vec<String> {
        let within = if module.is_empty() { String::new() } else { format!("{module}::") };
        inside.split_whitespace().map(|path| format!("{within}{path}")).collect()
    };
    LATER.iter().flat_map(of).collect()
}

/// Returns whether a function of this name and size goes to the rest for what it is.
fn is_later(later: &[String], name: &str, size: usize) -> bool {
    let own = name.trim_start_matches(['<', '&']);
    let is_method = !own.split(">::").next().unwrap_or_default().contains(" as ");
    later.iter().any(|path| size >= LARGE && name.contains(path) || is_method && own.starts_with(path))
}

/// Returns the name of a function without what tells versions of a crate apart: `[5c50ec72ae7ba001]`.
fn without_hashes(name: &str) -> String {
    let mut parts = name.split('[');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once(']') {
            Some((hash, rest)) if hash.len() > 8 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
                out.push_str(rest)
            }
            _ => {
                out.push('[');
                out.push_str(part);
            }
        }
    }
    out
}

const FLAG: GlobalType = GlobalType { val_type: ValType::I32, mutable: true, shared: false };

/// Returns the name under which the first part exports something for the rest.
fn name(kind: char, number: u32) -> String {
    format!("{kind}{number:x}")
}

/// Writes the first part.
struct First<'p, 'a> {
    plan: &'p Plan<'a>,
    function: u32,
    table: u32,
}

impl Reencode for First<'_, '_> {
    type Error = String;

    fn parse_table(
        &mut self,
        tables: &mut wasm_encoder::TableSection,
        mut table: wasmparser::Table<'_>,
    ) -> Result {
        table.ty = self.plan.table(self.table, table.ty);
        self.table += 1;
        utils::parse_table(self, tables, table)
    }

    fn parse_global_section(
        &mut self,
        globals: &mut GlobalSection,
        section: wasmparser::GlobalSectionReader<'_>,
    ) -> Result {
        utils::parse_global_section(self, globals, section)?;
        globals.global(FLAG, &ConstExpr::i32_const(0));
        Ok(())
    }

    fn parse_export_section(
        &mut self,
        exports: &mut ExportSection,
        section: wasmparser::ExportSectionReader<'_>,
    ) -> Result {
        utils::parse_export_section(self, exports, section)?;
        let facts = &self.plan.facts;
        for &function in &self.plan.shared {
            exports.export(&name('f', function), ExportKind::Func, function);
        }
        for number in 0..facts.tables.len() as u32 {
            exports.export(&name('t', number), ExportKind::Table, number);
        }
        exports.export(&name('m', 0), ExportKind::Memory, 0);
        for number in 0..=self.plan.flag() {
            exports.export(&name('g', number), ExportKind::Global, number);
        }
        Ok(())
    }

    fn parse_function_body(&mut self, code: &mut CodeSection, body: wasmparser::FunctionBody<'_>) -> Result {
        let function = self.function;
        self.function += 1;
        if self.plan.moved.contains(&function) {
            code.function(&self.plan.stub(function));
        } else {
            code.raw(body.as_bytes());
        }
        Ok(())
    }

    /// Names and notes of tools are not needed any more.
    fn parse_custom_section(&mut self, _: &mut Module, _: wasmparser::CustomSectionReader<'_>) -> Result {
        Ok(())
    }
}

/// Writes bodies for the rest, where functions have other numbers.
struct Rest {
    numbers: BTreeMap<u32, u32>,
}

impl Reencode for Rest {
    type Error = String;

    fn function_index(&mut self, function: u32) -> Result<u32> {
        self.numbers.get(&function).copied().ok_or_else(|| {
            reencode::Error::UserError(format!("function {function} is called and in neither part"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wasm_encoder::{
        ElementMode, ElementSegment, FunctionSection, MemorySection, MemoryType, NameMap, NameSection,
        RefType, TableSection, TableType,
    };
    use wasmparser::Validator;

    const SUM: &str = "pathlight_summary[0123456789abcdef]::part::sum";

    /// Returns a module in which `main` calls `sum` of a module that comes later, `sum` a helper of its own and one that
    /// `main` calls too, and a method of that module stands in the table. `load_rest` calls the function of this number.
    fn module(loads_by: u32) -> Vec<u8> {
        let mut types = TypeSection::new();
        types.ty().function([], []);
        types.ty().function([ValType::I32], [ValType::I32]);
        let mut imports = ImportSection::new();
        imports.import("env", "js", EntityType::Function(0));
        let functions = [
            ("load_rest", 0, vec![Instruction::Call(loads_by)]),
            ("core::shared", 1, vec![Instruction::LocalGet(0)]),
            (SUM, 1, vec![Instruction::LocalGet(0), Instruction::Call(4), Instruction::Call(2)]),
            ("core::of_sum", 1, vec![Instruction::LocalGet(0)]),
            ("main", 1, vec![Instruction::LocalGet(0), Instruction::Call(3), Instruction::Call(2)]),
            ("<pathlight_summary[0123456789abcdef]::Map>::get", 1, vec![Instruction::I32Const(7)]),
        ];
        let (mut kinds, mut code, mut names) = (FunctionSection::new(), CodeSection::new(), NameMap::new());
        for (number, (name, kind, body)) in (1..).zip(&functions) {
            kinds.function(*kind);
            let mut function = Function::new([]);
            for instruction in body {
                function.instruction(instruction);
            }
            function.instruction(&Instruction::End);
            code.function(&function);
            names.append(number, name);
        }
        let mut tables = TableSection::new();
        tables.table(TableType {
            element_type: RefType::FUNCREF,
            minimum: 2,
            maximum: Some(2),
            table64: false,
            shared: false,
        });
        let mut memories = MemorySection::new();
        let memory =
            MemoryType { minimum: 1, maximum: None, memory64: false, shared: false, page_size_log2: None };
        memories.memory(memory);
        let mut globals = GlobalSection::new();
        globals.global(FLAG, &ConstExpr::i32_const(5));
        let mut exports = ExportSection::new();
        exports.export("load_rest", ExportKind::Func, 1);
        exports.export("main", ExportKind::Func, 5);
        let mut elements = ElementSection::new();
        elements.segment(ElementSegment {
            mode: ElementMode::Active { table: None, offset: &ConstExpr::i32_const(1) },
            elements: Elements::Functions([6].as_slice().into()),
        });
        let mut names_of = NameSection::new();
        names_of.functions(&names);
        let mut out = Module::new();
        out.section(&types)
            .section(&imports)
            .section(&kinds)
            .section(&tables)
            .section(&memories)
            .section(&globals);
        out.section(&exports).section(&elements).section(&code).section(&names_of);
        out.finish()
    }

    fn operators(body: &wasmparser::FunctionBody<'_>) -> Vec<String> {
        let operators = body.get_operators_reader().unwrap();
        operators.into_iter().map(|operator| format!("{:?}", operator.unwrap())).collect()
    }

    #[test]
    fn what_is_named_and_what_only_that_calls_goes_to_the_rest_and_both_parts_are_valid() {
        let whole = module(0);
        let (first, rest) = split(&whole).unwrap();
        for part in [&whole, &first, &rest] {
            Validator::new().validate_all(part).unwrap();
        }
        let (before, first, rest) =
            (Facts::read(&whole).unwrap(), Facts::read(&first).unwrap(), Facts::read(&rest).unwrap());
        // load_rest, what both call and main are as they were.
        for stays in [0, 1, 4] {
            assert_eq!(first.bodies[stays].as_bytes(), before.bodies[stays].as_bytes());
        }
        assert_eq!(operators(&first.bodies[3]), ["Unreachable", "End"]);
        let stub = operators(&first.bodies[2]);
        assert_eq!(
            stub[stub.len() - 3..],
            [
                "I32Const { value: 2 }".to_owned(),
                "CallIndirect { type_index: 1, table_index: 0 }".to_owned(),
                "End".to_owned(),
            ]
        );
        assert!(stub.contains(&"Call { function_index: 1 }".to_owned()), "{stub:?}");
        // One more place in the table: that of `sum`, which is called by its number only.
        assert_eq!((first.tables[0].initial, first.tables[0].maximum), (3, Some(3)));
        assert_eq!(first.slots, before.slots);
        // The shared function is imported as number 0; then `sum`, its helper, the method, and what says that they are there.
        assert_eq!((rest.imported(), rest.bodies.len()), (1, 4));
        let sum = [
            "LocalGet { local_index: 0 }",
            "Call { function_index: 2 }",
            "Call { function_index: 0 }",
            "End",
        ];
        assert_eq!(operators(&rest.bodies[0]), sum);
        assert_eq!(rest.slots, BTreeMap::from([(1, vec![2]), (3, vec![1])]));
        assert_eq!(rest.globals.len(), first.globals.len());
    }

    #[test]
    fn small_functions_of_many_types_stay_and_large_ones_follow_their_types() {
        let name = without_hashes(
            "<alloc[0123456789abcdef]::vec::Vec<pathlight_summary[0123456789abcdef]::Bin>>::push",
        );
        assert_eq!(name, "<alloc::vec::Vec<pathlight_summary::Bin>>::push");
        let is_later = |name: &str, size| is_later(&later(), name, size);
        assert!(!is_later(&name, LARGE - 1) && is_later(&name, LARGE));
        assert!(is_later("<pathlight_summary::Bin>::new", 1) && is_later("pathlight_summary::merge", 1));
        assert!(!is_later("<pathlight_summary::Bin as core::fmt::Debug>::fmt", 1));
        assert!(!is_later("<[u8] as pathlight_model::Sorted>::sort", LARGE));
        assert_eq!(without_hashes("<[u8]>::fill"), "<[u8]>::fill");
    }

    #[test]
    fn a_module_that_cannot_fetch_a_rest_or_would_need_it_for_that_is_refused() {
        let error = split(&Module::new().finish()).unwrap_err();
        assert!(error.contains("exports no load_rest"), "{error}");
        // Only the numbers of calls are read: that its parameter lacks is no matter.
        let error = split(&module(3)).unwrap_err();
        assert!(error.contains("load_rest calls a function of the rest"), "{error}");
    }
}
