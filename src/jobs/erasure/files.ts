import { readStored } from '../../connectors/file/open-folder.ts'
import { openRows } from '../../connectors/file/open-rows.ts'
import { isWeirError } from '../../core/errors.ts'
import { columnRank } from '../../models/ratings/column-names.ts'
import { namesColumns } from '../../models/ratings/columns.ts'
import { fieldsOf } from '../../models/ratings/rating-fields.ts'
import { type Person, SEPARATORS } from './person.ts'

/** Bytes of the end of a piece that are searched again with the next one: longer than an id with what is around it. */
const OVERLAP = 4096

/** What a file has of a person. */
export interface Traces {
  readonly count: number
  /** Names of the columns of a table that have some. */
  readonly columns: readonly string[]
}

/**
 * How often a file names a person. In text: as first field of a line or a record, as key of a row (`<id>-U`), as
 * `user=<id>`, and under a header that names a column of users, in that column; compressed text is unpacked. In a table, as
 * Parquet: as a value or the key of a row, in all columns but those of items, ratings and times. Throws errors of the file
 * system, and MALFORMED_DATA for what is not read.
 */
export async function tracesIn(file: string, person: Person): Promise<Traces> {
  const search = new TableSearch(person, (name) => !isOther(name))
  const { isTable, pieces } = await openRows(file, search)
  if (!isTable) return await tracesInText(file, pieces, person)
  try {
    return await search.run(pieces)
  } catch (error) {
    if (!isWeirError(error, 'MALFORMED_DATA')) throw error
    // A column of lists cannot be read; the users may stand in another one. Nothing there proves nothing.
    const traces = await tracesOfUsers(file, person).catch(() => undefined)
    if (traces === undefined || traces.count === 0) throw error
    return traces
  }
}

async function tracesOfUsers(file: string, person: Person): Promise<Traces> {
  const search = new TableSearch(person, isUser)
  const { pieces } = await openRows(file, search)
  return await search.run(pieces)
}

const isUser = (name: string): boolean => columnRank(name, 'user') !== undefined
/** Whether the numbers of a column are surely no users: they may be equal to an id. */
const isOther = (name: string): boolean =>
  !isUser(name) &&
  (['item', 'rating', 'time'] as const).some((field) => columnRank(name, field) !== undefined)

/** Searches the rows of a table. */
class TableSearch {
  private readonly person: Person
  private readonly isSearched: (name: string) => boolean
  private searched: ReadonlySet<number> = new Set()

  constructor(person: Person, isSearched: (name: string) => boolean) {
    this.person = person
    this.isSearched = isSearched
  }

  /** The columns that are searched, once the header is read. */
  readonly wanted = (): ReadonlySet<number> => this.searched

  async run(pieces: AsyncGenerator<Uint8Array>): Promise<Traces> {
    let names: readonly string[] | undefined
    const found = new Found(this.person)
    for await (const line of linesOf(pieces)) {
      const fields = fieldsOf(line, ',')
      if ('reason' in fields) continue
      if (names !== undefined) found.addRow(fields, names, this.searched)
      else {
        names = fields
        this.searched = new Set(fields.flatMap((name, at) => (this.isSearched(name) ? [at] : [])))
      }
    }
    return found.traces()
  }
}

/** Counts the fields that name a person. */
class Found {
  private count = 0
  private readonly person: Person
  private readonly named = new Set<string>()

  constructor(person: Person) {
    this.person = person
  }

  traces(): Traces {
    return { count: this.count, columns: [...this.named] }
  }

  addRow(fields: readonly string[], names: readonly string[], searched: ReadonlySet<number>): void {
    for (const at of searched) {
      const field = fields[at]
      if (field === undefined || !this.person.isNamedBy(field)) continue
      this.count++
      this.named.add(names[at]!)
    }
  }
}

async function tracesInText(
  file: string,
  pieces: AsyncGenerator<Uint8Array>,
  person: Person,
): Promise<Traces> {
  const search = new TextSearch(person)
  try {
    for await (const piece of pieces) search.push(piece)
  } catch (error) {
    if (!isWeirError(error, 'MALFORMED_DATA') || !(await isJson(file))) throw error
    // No reader of lines takes JSON, such as the audit; but it is text.
    for await (const piece of readStored(file)) search.push(piece)
  }
  const count = search.end()
  const columns = columnsOf(search.firstLine)
  if (columns === undefined) return { count, columns: [] }
  const found = new Found(person)
  const again = await openRows(file, { wanted: () => undefined })
  for await (const line of linesOf(again.pieces)) {
    const fields = fieldsOf(line, columns.separator)
    if (!('reason' in fields)) found.addRow(fields, columns.names, columns.searched)
  }
  const { count: inColumns, columns: named } = found.traces()
  return { count: count + inColumns, columns: named }
}

async function isJson(file: string): Promise<boolean> {
  for await (const piece of readStored(file)) return /^\s*[[{]/.test(Buffer.from(piece).toString())
  return false
}

/** The columns of users behind the first one, which is searched anyhow, of a line that is a header. */
function columnsOf(firstLine: string) {
  for (const separator of SEPARATORS) {
    const names = fieldsOf(firstLine.replace(/^\ufeff/, ''), separator)
    if ('reason' in names || names.length < 2 || !namesColumns(names)) continue
    const users = names.flatMap((name, at) => (at > 0 && isUser(name) ? [at] : []))
    return { separator, names, searched: new Set(users) }
  }
  return undefined
}

/** Searches text, or bytes with text in them, that come in pieces. */
export class TextSearch {
  firstLine = ''
  private readonly trace: RegExp
  private rest = ''
  private isFirst = true
  private count = 0

  constructor({ pattern: id, named }: Person) {
    // After a separator it would be the id of an item, or a number.
    const line = `(?<![0-9A-Za-z_.,;|:\\t-])${id}"?(?=[,;\\t|:])`
    const key = `(?<![0-9A-Za-z_.-])${id}-U(?![0-9A-Za-z_])`
    this.trace = new RegExp(`${line}|${key}|${named.source}`, 'g')
  }

  push(piece: Uint8Array): void {
    const text = this.rest + Buffer.from(piece).toString('utf8')
    if (this.isFirst && this.rest === '')
      this.firstLine = /^[^\r\n]*/.exec(text.slice(0, OVERLAP))![0]
    // What begins in the part that is kept is counted with the next piece.
    const end = text.length - OVERLAP
    for (const { index } of text.matchAll(this.trace)) {
      if (index < end && (this.isFirst || index > 0)) this.count++
    }
    this.rest = text.slice(Math.max(0, end - 1))
    this.isFirst = end <= 0 && this.isFirst
  }

  /** The number of traces. */
  end(): number {
    for (const { index } of this.rest.matchAll(this.trace)) {
      if (this.isFirst || index > 0) this.count++
    }
    this.rest = ''
    return this.count
  }
}

const NEWLINE = '\n'

/** The lines of pieces of text, which may end within one. */
async function* linesOf(pieces: AsyncGenerator<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const piece of pieces) {
    const lines = (rest + decoder.decode(piece, { stream: true })).split(NEWLINE)
    rest = lines.pop()!
    for (const line of lines) yield line
  }
  if (rest !== '') yield rest
}
