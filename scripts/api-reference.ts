import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseAst } from 'rolldown/parseAst'

/** A node of the syntax tree, as far as this script reads it. */
interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly id?: Node & { readonly name: string; readonly typeAnnotation?: Node }
  readonly body?: Node & { readonly body: readonly Member[] }
  readonly declaration?: Node | null
  readonly declarations?: readonly Node[]
  readonly init?: Node | null
  readonly source?: { readonly value: string } | null
  readonly specifiers?: readonly Specifier[]
}

interface Member extends Node {
  readonly accessibility?: string
  readonly kind?: string
  readonly key?: Node
  readonly value?: (Node & { readonly body?: Node | null }) | null
  readonly typeAnnotation?: Node
}

interface Specifier {
  readonly local: { readonly name: string }
  readonly exported?: { readonly name: string }
}

interface Module {
  readonly url: URL
  readonly text: string
  readonly body: readonly Node[]
}

const modules = new Map<string, Module>()

function moduleAt(url: URL): Module {
  let module = modules.get(url.href)
  if (module === undefined) {
    const text = readFileSync(fileURLToPath(url), 'utf8')
    const { body } = parseAst(text, { lang: 'ts' }) as unknown as { body: readonly Node[] }
    module = { url, text, body }
    modules.set(url.href, module)
  }
  return module
}

/** A page of docs/reference/api: every export of an entry of the package, with its docstring. */
export function apiReference(name: string, entry: string): string {
  const module = moduleAt(new URL(`../src/${entry}`, import.meta.url))
  const sections = module.body.flatMap((statement) => exportsOf(module, statement))
  return `# API of \`${name}\`

${docBefore(module.text, module.body[0]!.start)}

This page is written by \`npm run docs\` from the docstrings of the source. The guides show how the parts work together.

${sections.join('\n\n')}
`
}

/** The names that an entry of the package exports, in order. */
export function exportedNames(entry: string): readonly string[] {
  const module = moduleAt(new URL(`../src/${entry}`, import.meta.url))
  const names = module.body.flatMap((statement) => exportedBy(module, statement)?.names ?? [])
  return names.map(({ exported }) => exported!.name).sort()
}

/** What a statement exports of another module; undefined where it exports nothing of one. */
function exportedBy(
  module: Module,
  { source, specifiers }: Node,
): { readonly from: Module; readonly names: readonly Specifier[] } | undefined {
  if (source === null || source === undefined) return undefined
  const from = moduleAt(new URL(source.value, module.url))
  return { from, names: specifiers ?? declaredBy(from) }
}

function exportsOf(module: Module, statement: Node): readonly string[] {
  const found = exportedBy(module, statement)
  if (found === undefined) return []
  const { from, names } = found
  const heading = lineCommentBefore(module.text, statement.start)
  const items = names.map(({ local, exported }) => itemOf(from, local.name, exported!.name))
  return heading === undefined ? items : [`## ${heading}`, ...items]
}

/** What a module declares and exports, for `export *` of it. */
function declaredBy({ body }: Module): readonly Specifier[] {
  return body.flatMap(({ declaration, specifiers = [] }) => {
    // What it exports of another module.
    const again = specifiers.flatMap(({ exported }) => exported ?? [])
    if (again.length > 0) return again.map((id) => ({ local: id, exported: id }))
    const id = declaration?.id ?? declaration?.declarations?.[0]?.id
    return id === undefined ? [] : [{ local: id, exported: id }]
  })
}

/** The section of one export; follows exports of exports. Throws if the module has no such declaration. */
function itemOf(module: Module, local: string, name: string): string {
  for (const statement of module.body) {
    // Specifiers of imports have no exported name.
    const again = statement.specifiers?.find(({ exported }) => exported?.name === local)
    if (again !== undefined && statement.source) {
      return itemOf(moduleAt(new URL(statement.source.value, module.url)), again.local.name, name)
    }
    const declared = declarationOf(module, statement, local)
    if (declared === undefined) continue
    const code = signatureOf(module.text, declared).replace(/^export (default )?/, '')
    const { start } = statement.type === 'ExportDefaultDeclaration' ? declared : statement
    return `### ${name}\n\n${docBefore(module.text, start)}\n\n\`\`\`ts\n${code}\n\`\`\``
  }
  throw new Error(`${module.url.href} does not declare ${local}`)
}

function declarationOf(module: Module, statement: Node, name: string): Node | undefined {
  const node = statement.declaration ?? statement
  if (node.id?.name === name) return node
  if (node.declarations?.[0]?.id?.name === name) return node
  if (name !== 'default' || statement.type !== 'ExportDefaultDeclaration') return undefined
  // `export default job` of a constant above.
  if (node.type !== 'Identifier') return node
  const constant = (node as unknown as { name: string }).name
  return module.body.find((one) => one.declarations?.[0]?.id?.name === constant)
}

function signatureOf(text: string, node: Node): string {
  switch (node.type) {
    case 'FunctionDeclaration':
      return text.slice(node.start, node.body!.start).trim()
    case 'ClassDeclaration':
      return classOf(text, node)
    case 'VariableDeclaration':
      return variableOf(text, node)
    default:
      return text.slice(node.start, node.end)
  }
}

/** Constants that are shown with their value have at most this many characters. */
const SHORT = 120

function variableOf(text: string, node: Node): string {
  const whole = text.slice(node.start, node.end)
  if (whole.length <= SHORT) return whole
  const { id, init } = node.declarations![0]!
  const head = text.slice(node.start, id!.typeAnnotation?.end ?? id!.end)
  const arrow = init as (Node & { readonly body?: Node }) | null | undefined
  if (arrow?.type === 'ArrowFunctionExpression') {
    return text.slice(node.start, arrow.body!.start).replace(/\s*=>\s*$/, '')
  }
  return head
}

/** A class without bodies, and without what is private. */
function classOf(text: string, node: Node): string {
  const members = node.body!.body.filter(
    ({ accessibility, key }) =>
      accessibility !== 'private' &&
      accessibility !== 'protected' &&
      key?.type !== 'PrivateIdentifier',
  )
  const lines = members.map((member) => `${memberDoc(text, member)}  ${memberOf(text, member)}`)
  return `${text.slice(node.start, node.body!.start)}{\n${lines.join('\n')}\n}`
}

function memberOf(text: string, { start, end, value, typeAnnotation, key }: Member): string {
  const body = value?.body?.start
  const stop =
    body ?? (value === null || value === undefined ? end : (typeAnnotation?.end ?? key!.end))
  return text
    .slice(start, stop)
    .replace(/^(static )?async /, '$1')
    .trim()
}

function memberDoc(text: string, member: Member): string {
  const doc = /\/\*\*(?:(?!\*\/)[\s\S])*\*\/\s*$/.exec(text.slice(0, member.start))
  return doc === null ? '' : `  ${doc[0].trim()}\n`
}

/** The text of the docstring that ends before `position`; the entry's own comment is a docstring, too. */
function docBefore(text: string, position: number): string {
  const before = text.slice(0, position).replace(/(?:\/\/[^\n]*\n\s*)+$/, '')
  const doc = /\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*$/.exec(before)?.[1] ?? ''
  return doc
    .split('\n')
    .map((line) => line.replace(/^\s*\* ?/, '').trimEnd())
    .join('\n')
    .trim()
}

/** The line comment directly above a statement, a heading of the page. */
function lineCommentBefore(text: string, position: number): string | undefined {
  return /(?:^|\n)\/\/ ([^\n]+)\n$/.exec(text.slice(0, position))?.[1]?.replace(/\.$/, '')
}
