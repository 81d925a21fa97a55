import { isWeirError, messageOf, WeirError } from '../../core/errors.ts'

/** A format that no reader of lines can read, how its files begin, and what converts them. */
interface ForeignFormat {
  readonly name: string
  /** Whether a file begins so; `head` has one character a byte. */
  begins(head: string): boolean
  /** A command; FILE stands for the file. */
  readonly convert: string
}

const DUCKDB = `duckdb -c "COPY (FROM 'FILE') TO 'FILE.csv'"`
const PANDAS = (read: string): string =>
  `python3 -c "import pandas; pandas.${read}('FILE').to_csv('FILE.csv', index=False)"`
const NUMPY = (array: string): string =>
  `python3 -c "import numpy; a = numpy.load('FILE'); numpy.savetxt('FILE.csv', ${array}, '%g', ',')"`

const beginsWith =
  (...starts: readonly string[]): ForeignFormat['begins'] =>
  (head) =>
    starts.some((start) => head.startsWith(start))

const ZIP = 'PK\x03\x04'
/** Where the name of the first file of a zip archive stands. */
const ZIP_NAME = 30
/** A zip archive whose first file has such a name. */
const zipOf =
  (name: RegExp): ForeignFormat['begins'] =>
  (head) =>
    head.startsWith(ZIP) && name.test(head.slice(ZIP_NAME))

const FORMATS: readonly ForeignFormat[] = [
  { name: 'a Parquet file', begins: beginsWith('PAR1'), convert: DUCKDB },
  {
    name: 'an Arrow file',
    begins: beginsWith('ARROW1', '\xff\xff\xff\xff', 'FEA1'),
    convert: PANDAS('read_feather'),
  },
  { name: 'an ORC file', begins: beginsWith('ORC'), convert: PANDAS('read_orc') },
  {
    name: 'an Avro file',
    begins: beginsWith('Obj\x01'),
    convert: `avro-tools tojson FILE | jq -r '[.user, .item, .rating] | @csv' > FILE.csv`,
  },
  {
    name: 'an Excel workbook',
    begins: zipOf(/^(\[Content_Types\]|_rels\/|xl\/|docProps\/)/),
    convert: 'libreoffice --headless --convert-to csv FILE',
  },
  {
    name: 'an Excel workbook',
    begins: beginsWith('\xd0\xcf\x11\xe0'),
    convert: 'libreoffice --headless --convert-to csv FILE',
  },
  { name: 'a NumPy archive', begins: zipOf(/^[\w.-]+\.npy/), convert: NUMPY('a[a.files[0]]') },
  { name: 'a zip archive', begins: beginsWith(ZIP), convert: 'unzip -p FILE > FILE.csv' },
  { name: 'a NumPy array', begins: beginsWith('\x93NUMPY'), convert: NUMPY('a') },
  { name: 'an HDF5 file', begins: beginsWith('\x89HDF'), convert: PANDAS('read_hdf') },
  {
    name: 'an SQLite database',
    begins: beginsWith('SQLite format 3'),
    convert: 'sqlite3 -csv FILE "SELECT user, item, rating FROM ratings" > FILE.csv',
  },
  { name: 'packed with bzip2', begins: beginsWith('BZh'), convert: 'bunzip2 FILE' },
  { name: 'packed with xz', begins: beginsWith('\xfd7zXZ'), convert: 'unxz FILE' },
  { name: 'packed with lz4', begins: beginsWith('\x04\x22\x4d\x18'), convert: 'lz4 -d FILE' },
  { name: 'a 7-Zip archive', begins: beginsWith('7z\xbc\xaf'), convert: '7z x FILE' },
  {
    name: 'a tar archive',
    begins: (head) => head.startsWith('ustar', 257),
    convert: 'tar -xf FILE',
  },
  {
    name: 'JSON',
    begins: (head) => /^\s*(\[\s*)?\{\s*("|$)/.test(head),
    convert: `jq -r '(if type == "array" then .[] else . end) | [.user, .item, .rating] | @csv' FILE > FILE.csv`,
  },
  {
    name: 'a page of HTML',
    begins: (head) => /^\s*<(!doctype html|html)/i.test(head),
    convert: 'curl -fLO URL (this page is probably the error of a download)',
  },
]

/**
 * The result of `read`, which reads a file by the library of its format: what the library throws means that the file is
 * damaged, and becomes MALFORMED_DATA with the words of `damage`. Errors of the file system and of HDFS are as they are.
 */
export async function readByLibrary<T>(
  place: string,
  read: () => T | Promise<T>,
  damage: (reason: string) => string,
): Promise<T> {
  try {
    return await read()
  } catch (cause) {
    if (isWeirError(cause) || (cause instanceof Error && 'syscall' in cause)) throw cause
    const details = { path: place }
    throw new WeirError('MALFORMED_DATA', damage(messageOf(cause)), { cause, details })
  }
}

/** So many first bytes decide. */
export const FORMAT_BYTES = 264

/** Throws MALFORMED_DATA for a file of another format than lines of text, with the command that converts it. */
export function refuseForeignFormat(head: Uint8Array, place: string): void {
  const text = Buffer.from(head.buffer, head.byteOffset, head.length).toString('latin1')
  const format = FORMATS.find(({ begins }) => begins(text))
  if (format === undefined) return
  const command = format.convert.replaceAll('FILE', place)
  throw new WeirError(
    'MALFORMED_DATA',
    `${place} is ${format.name}, and only lines of text are read, packed with gzip or zstd or not; convert it, for example with: ${command}`,
    { details: { path: place } },
  )
}
