import { WeirError } from '../../core/errors.ts'

/** A matrix in a NumPy file (`numpy.save`), row by row. */
export interface NpyMatrix {
  readonly rows: number
  readonly columns: number
  /** Bytes of an element, little-endian floating point. */
  readonly width: 4 | 8
  /** Offset of the first row. */
  readonly start: number
}

/** The header of any matrix is in so many first bytes. */
export const NPY_HEADER_BYTES = 4096

/** Most factors of a row: a header may claim any number, and a row is in memory as a whole. */
const MOST_COLUMNS = 65_536

const isLittleEndian = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1

const MAGIC = [0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59]

/**
 * Reads the header of a NumPy file: a matrix of float32 or float64, little-endian, in C order. Throws
 * UNPARSABLE_RECORD, whose message says how to save the matrix.
 */
export function parseNpyHeader(bytes: Uint8Array): NpyMatrix {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (bytes.length < 12 || MAGIC.some((byte, i) => bytes[i] !== byte)) {
    throw refused('it does not begin as one')
  }
  const isFirst = bytes[6] === 1
  const length = isFirst ? view.getUint16(8, true) : view.getUint32(8, true)
  const from = isFirst ? 10 : 12
  if (from + length > bytes.length) throw refused('its header is truncated or too long')
  const header = new TextDecoder('latin1').decode(bytes.subarray(from, from + length))
  const type = /'descr':\s*'([^']*)'/.exec(header)?.[1]
  const shape = /'shape':\s*\(\s*(\d+)\s*,\s*(\d+)\s*,?\s*\)/.exec(header)
  if (type !== '<f4' && type !== '<f8') throw refused(`its elements are ${type}`)
  if (!/'fortran_order':\s*False/.test(header)) throw refused('it is in Fortran order')
  if (shape === null) throw refused('it does not have two dimensions')
  const [rows, columns] = [Number(shape[1]), Number(shape[2])]
  if (columns < 1 || columns > MOST_COLUMNS) {
    throw refused(`it has ${columns} columns, and a row has 1 to ${MOST_COLUMNS} factors`)
  }
  return { rows, columns, width: type === '<f4' ? 4 : 8, start: from + length }
}

/** Row `index` of bytes that hold whole rows. */
export function npyRow(matrix: NpyMatrix, rows: Uint8Array, index: number): Float32Array {
  const { columns, width } = matrix
  const row = new Float32Array(columns)
  const from = index * columns * width
  if (width === 4 && isLittleEndian) {
    new Uint8Array(row.buffer).set(rows.subarray(from, from + columns * 4))
    return row
  }
  const view = new DataView(rows.buffer, rows.byteOffset + from, columns * width)
  for (let i = 0; i < columns; i++) {
    row[i] = width === 4 ? view.getFloat32(i * 4, true) : view.getFloat64(i * 8, true)
  }
  return row
}

function refused(problem: string): WeirError {
  const message = `this is no NumPy matrix of factors: ${problem}; save numpy.ascontiguousarray(factors, dtype="<f4")`
  return new WeirError('UNPARSABLE_RECORD', message)
}
