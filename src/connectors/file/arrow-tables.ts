/*
 * The tables (flatbuffers) of an Arrow file that say how much it has. The library trusts them: with one changed byte it makes
 * objects until the memory is full, or leaves out a batch of rows. Source: "Message.fbs", "Schema.fbs" and "File.fbs" of the
 * Arrow format, 1.5.
 */

/** What a message is: a schema, words of a dictionary, or rows. */
export type ArrowMessage =
  | { readonly kind: 'schema' | 'words'; readonly bodyBytes: number }
  | { readonly kind: 'rows'; readonly bodyBytes: number; readonly rows: number }

const KINDS: Readonly<Record<number, ArrowMessage['kind']>> = { 1: 'schema', 2: 'words', 3: 'rows' }
/** Fields of a message: the kind of its header, the header, the bytes of its body. */
const MESSAGE = { kind: 1, header: 2, bodyBytes: 3 } as const
/** Fields of rows: their number, the lengths of columns, the places of their bytes. */
const ROWS = { length: 0, nodes: 1, buffers: 2, variadic: 4 } as const
/** The rows in words of a dictionary. */
const WORDS = { data: 1 } as const
const SCHEMA = { fields: 1, metadata: 2 } as const
const FIELD = { name: 0, children: 5, metadata: 6 } as const
const FOOTER = { schema: 1, dictionaries: 2, batches: 3 } as const
/** Bytes of an element: a table, the length of a column, the place of bytes, the place of a message in a file. */
const [TABLE_BYTES, NODE_BYTES, PLACE_BYTES, BLOCK_BYTES, COUNT_BYTES] = [4, 16, 16, 24, 8]

/** Reads the metadata of a message. Throws an `Error`, or a RangeError, where it is damaged. */
export function messageIn(metadata: Uint8Array): ArrowMessage {
  const message = Table.root(metadata)
  const kind = KINDS[message.byte(MESSAGE.kind)]
  const bodyBytes = message.int64(MESSAGE.bodyBytes)
  if (bodyBytes < 0) throw new Error(`a message of ${bodyBytes} bytes`)
  const header = message.table(MESSAGE.header)
  if (kind === 'rows') return { kind, bodyBytes, rows: rowsOf(header) }
  if (kind === undefined) throw new Error(`a message of kind ${message.byte(MESSAGE.kind)}`)
  if (kind === 'schema') checkSchema(header)
  else rowsOf(header.table(WORDS.data))
  return { kind, bodyBytes }
}

/** The number of batches of rows that the footer of a file lists. Throws as `messageIn`. */
export function batchesIn(footer: Uint8Array): number {
  const table = Table.root(footer)
  checkSchema(table.table(FOOTER.schema))
  table.elements(FOOTER.dictionaries, BLOCK_BYTES)
  return table.elements(FOOTER.batches, BLOCK_BYTES).count
}

/** The number of rows of a batch: that of its first column, too. */
function rowsOf(table: Table): number {
  const rows = table.int64(ROWS.length)
  table.elements(ROWS.buffers, PLACE_BYTES)
  table.elements(ROWS.variadic, COUNT_BYTES)
  const nodes = table.elements(ROWS.nodes, NODE_BYTES)
  const ofColumn = nodes.count === 0 ? rows : table.int64At(nodes.start)
  if (rows < 0 || rows !== ofColumn) throw new Error(`${ofColumn} of ${rows} rows of a column`)
  return rows
}

function checkSchema(schema: Table): void {
  schema.elements(SCHEMA.metadata, TABLE_BYTES)
  for (const field of schema.tables(SCHEMA.fields)) checkField(field)
}

function checkField(field: Table): void {
  if (!field.has(FIELD.name)) throw new Error('a column without a name')
  field.elements(FIELD.metadata, TABLE_BYTES)
  for (const child of field.tables(FIELD.children)) checkField(child)
}

/** A table of a flatbuffer: a place with a signed distance back to the places of its fields. */
class Table {
  private readonly view: DataView
  private readonly at: number
  private readonly fields: number

  constructor(view: DataView, at: number) {
    this.view = view
    this.at = at
    this.fields = at - view.getInt32(at, true)
  }

  static root(bytes: Uint8Array): Table {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    return new Table(view, view.getUint32(0, true))
  }

  has(field: number): boolean {
    return this.placeOf(field) !== undefined
  }

  byte(field: number): number {
    const place = this.placeOf(field)
    return place === undefined ? 0 : this.view.getUint8(place)
  }

  int64(field: number): number {
    const place = this.placeOf(field)
    return place === undefined ? 0 : this.int64At(place)
  }

  int64At(place: number): number {
    return Number(this.view.getBigInt64(place, true))
  }

  table(field: number): Table {
    const place = this.placeOf(field)
    if (place === undefined) throw new Error('a part of its description is missing')
    return this.tableAt(place)
  }

  *tables(field: number): Generator<Table> {
    const { start, count } = this.elements(field, TABLE_BYTES)
    for (let n = 0; n < count; n++) yield this.tableAt(start + n * TABLE_BYTES)
  }

  /** The elements of a vector. Throws where they cannot all be in the bytes. */
  elements(field: number, bytes: number): { readonly start: number; readonly count: number } {
    const place = this.placeOf(field)
    if (place === undefined) return { start: 0, count: 0 }
    const start = place + this.view.getUint32(place, true)
    const count = this.view.getUint32(start, true)
    if (start + 4 + count * bytes > this.view.byteLength) throw new Error(`${count} elements`)
    return { start: start + 4, count }
  }

  private tableAt(place: number): Table {
    return new Table(this.view, place + this.view.getUint32(place, true))
  }

  private placeOf(field: number): number | undefined {
    const { view, fields, at } = this
    const entry = 4 + 2 * field
    if (entry >= view.getUint16(fields, true)) return undefined
    const offset = view.getUint16(fields + entry, true)
    return offset === 0 ? undefined : at + offset
  }
}
