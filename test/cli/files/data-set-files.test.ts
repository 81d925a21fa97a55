import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Flags } from '../../../src/cli/command/command.ts'
import { BadLinesOfFiles } from '../../../src/cli/files/bad-lines.ts'
import { examplesOfFile } from '../../../src/cli/files/examples-file.ts'
import { ratingsOfFile } from '../../../src/cli/files/ratings-file.ts'
import { ratingsReadingOf } from '../../../src/cli/files/ratings-reading.ts'
import { NO_TIMESTAMP } from '../../../src/core/time.ts'
import { ratingsOf } from '../../../src/training/data/ratings-table.ts'
import { recordedIo } from '../recorded-io.ts'

/** A file as a public data set or a program has it. */
interface DataFile {
  readonly name: string
  readonly content: string | Uint8Array
  /** Flags beside `--ratings`. */
  readonly flags?: Readonly<Record<string, string | boolean>>
}

/** User, item and rating, and the time in ms where there is one. */
type Row = readonly [string, string, number, number?]

let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'weir-data-sets-'))
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

function placeOf({ name, content }: DataFile): string {
  const place = join(folder, name)
  writeFileSync(place, content)
  return place
}

async function rowsOf(file: DataFile): Promise<{ rows: readonly Row[]; err: string }> {
  const { io, err } = recordedIo()
  const reading = ratingsReadingOf(new Flags(file.flags ?? {}), io)
  const table = await ratingsOfFile(placeOf(file), reading)
  const rows = [...ratingsOf(table)].map(({ user, item, rating, timestamp }): Row => {
    return timestamp === NO_TIMESTAMP ? [user, item, rating] : [user, item, rating, timestamp]
  })
  return { rows, err: err.join('\n') }
}

const utf16 = (text: string): Buffer => Buffer.from(`\ufeff${text}`, 'utf16le')
const zipOf = (first: string): Buffer =>
  Buffer.concat([Buffer.from('PK\x03\x04'), Buffer.alloc(26), Buffer.from(first)])

const U_DATA = '196\t242\t3\t881250949\n186\t302\t3\t891717742\n'
const U_ROWS: readonly Row[] = [
  ['196', '242', 3, 881_250_949_000],
  ['186', '302', 3, 891_717_742_000],
]

/** Files that are read, and what they hold. */
const READ: readonly (readonly [DataFile, readonly Row[]])[] = [
  [{ name: 'ml-100k-u.data', content: U_DATA }, U_ROWS],
  [{ name: 'ml-100k-u1.base.gz', content: gzipSync(U_DATA) }, U_ROWS],
  [{ name: 'ml-100k-u1.base.zst', content: zstdCompressSync(U_DATA) }, U_ROWS],
  [{ name: 'ml-100k-crlf', content: U_DATA.replaceAll('\n', '\r\n') }, U_ROWS],
  [
    { name: 'ml-1m-ratings.dat', content: '1::1193::5::978300760\n1::661::3::978302109\n' },
    [
      ['1', '1193', 5, 978_300_760_000],
      ['1', '661', 3, 978_302_109_000],
    ],
  ],
  [
    {
      name: 'ml-25m-ratings.csv',
      content: 'userId,movieId,rating,timestamp\n1,296,5.0,1147880044\n1,306,3.5,1147868817\n',
    },
    [
      ['1', '296', 5, 1_147_880_044_000],
      ['1', '306', 3.5, 1_147_868_817_000],
    ],
  ],
  [
    { name: 'netflix-as-lines.csv', content: '1488844,1,3,2005-09-06\n822109,1,5,2005-05-13\n' },
    [
      ['1488844', '1', 3, Date.UTC(2005, 8, 6)],
      ['822109', '1', 5, Date.UTC(2005, 4, 13)],
    ],
  ],
  [
    {
      name: 'amazon-2014-ratings-only.csv',
      content: 'A2CX7LUOHB2NDG,0321732944,5.0,1341100800\n',
    },
    [['A2CX7LUOHB2NDG', '0321732944', 5, 1_341_100_800_000]],
  ],
  [
    {
      name: 'amazon-2018-item-first.csv',
      content: '0321732944,A2CX7LUOHB2NDG,5.0,1341100800\n',
      flags: { columns: 'item=1,user=2,time=4' },
    },
    [['A2CX7LUOHB2NDG', '0321732944', 5, 1_341_100_800_000]],
  ],
  [
    {
      name: 'amazon-2023-milliseconds.csv',
      content: 'user_id,parent_asin,rating,timestamp\nAGKH,B00YQ6X8EO,5.0,1520077101929\n',
    },
    [['AGKH', 'B00YQ6X8EO', 5, 1_520_077_101_929]],
  ],
  [
    {
      name: 'lastfm-360k.tsv',
      content: '00000c28\t3bd73256\tbetty blowtorch\t2137\n00000c28\tf2fb0ff0\tdie Ärzte\t1099\n',
      flags: { columns: 'user=1,item=3,weight=4', implicit: true },
    },
    [
      ['00000c28', 'betty blowtorch', 2137],
      ['00000c28', 'die Ärzte', 1099],
    ],
  ],
  [
    { name: 'lastfm-hetrec-user_artists.dat', content: 'userID\tartistID\tweight\n2\t51\t13883\n' },
    [['2', '51', 13_883]],
  ],
  [
    {
      name: 'lastfm-1k-events.tsv',
      content:
        'user_000001\t2009-05-04T23:08:57Z\tf1b1cf71\tDeep Dish\t\tOne\nuser_000001\t2009-05-04T13:54:10Z\tf1b1cf71\tDeep Dish\t\tTwo\n',
      flags: { columns: 'user=1,item=3,rating=,time=2' },
    },
    [['user_000001', 'f1b1cf71', 2, Date.UTC(2009, 4, 4, 23, 8, 57)]],
  ],
  [
    { name: 'goodbooks-ratings.csv', content: 'user_id,book_id,rating\n1,258,5\n2,4081,4\n' },
    [
      ['1', '258', 5],
      ['2', '4081', 4],
    ],
  ],
  [
    {
      name: 'goodbooks-to_read.csv',
      content: 'user_id,book_id\n9,8\n15,398\n9,8\n',
      flags: { implicit: true },
    },
    [
      ['9', '8', 2],
      ['15', '398', 1],
    ],
  ],
  [
    {
      name: 'pairs-without-header.csv',
      content: 'ada,inception\nbob,inception\n',
      flags: { columns: 'user=1,item=2,rating=' },
    },
    [
      ['ada', 'inception', 1],
      ['bob', 'inception', 1],
    ],
  ],
  [
    {
      name: 'yelp-review.csv',
      content:
        'review_id,user_id,business_id,stars,date,text,useful\nKU_O5,mh_-eMZ6K5,XQfwVwDr,3.0,2018-07-07 22:09:11,"If you decide, be aware",0\n',
    },
    [['mh_-eMZ6K5', 'XQfwVwDr', 3, Date.UTC(2018, 6, 7, 22, 9, 11)]],
  ],
  [
    {
      name: 'book-crossing.csv',
      content: '"User-ID";"ISBN";"Book-Rating"\n"276725";"034545104X";"0"\n',
    },
    [['276725', '034545104X', 0]],
  ],
  [{ name: 'jester.tsv', content: '1\t5\t-9.281\n' }, [['1', '5', Math.fround(-9.281)]]],
  [
    { name: 'epinions-ratings_data.txt', content: '1 100 4\n1  101 5\n 2 100 3 \n' },
    [
      ['1', '100', 4],
      ['1', '101', 5],
      ['2', '100', 3],
    ],
  ],
  [
    { name: 'filmtrust-ratings.txt', content: '1 1 2\n1 2 4\n' },
    [
      ['1', '1', 2],
      ['1', '2', 4],
    ],
  ],
  [{ name: 'pipes.txt', content: '196|242|3|881250949\n186|302|3|891717742\n' }, U_ROWS],
  [
    {
      name: 'retailrocket-events.csv',
      content:
        'timestamp,visitorid,event,itemid,transactionid\n1433221332117,257597,view,355908,\n1433224214164,257597,addtocart,355908,\n1433223236124,992329,view,248676,\n1433223239808,111016,transaction,318965,7\n',
      flags: { weight: 'event=view:1,addtocart:3,transaction:10' },
    },
    [
      ['257597', '355908', 4, 1_433_224_214_164],
      ['992329', '248676', 1, 1_433_223_236_124],
      ['111016', '318965', 10, 1_433_223_239_808],
    ],
  ],
  [
    {
      name: 'steam-200k.csv',
      content:
        '151603712,"The Elder Scrolls V Skyrim",purchase,1.0,0\n151603712,"The Elder Scrolls V Skyrim",play,273.0,0\n',
      flags: { columns: 'user=1,item=2', weight: '3=purchase:5,play:0' },
    },
    [['151603712', 'The Elder Scrolls V Skyrim', 5]],
  ],
  [
    {
      name: 'online-retail.csv',
      content:
        'InvoiceNo,StockCode,Description,Quantity,InvoiceDate,UnitPrice,CustomerID,Country\n536365,85123A,"HANGING HEART, WHITE",6,12/1/2010 8:26,2.55,17850,United Kingdom\n',
      flags: { columns: 'user=CustomerID,item=StockCode,weight=Quantity,time=' },
    },
    [['17850', '85123A', 6]],
  ],
  [
    {
      name: 'excel-unicode-text.txt',
      content: utf16('user\titem\trating\r\nanna\tü\t4\r\n'),
    },
    [['anna', 'ü', 4]],
  ],
  [
    {
      name: 'utf-16-big-endian.txt',
      content: utf16('user\titem\trating\nanna\tü\t4\n').swap16(),
    },
    [['anna', 'ü', 4]],
  ],
  [
    { name: 'excel-utf-8.csv', content: '\ufeffuser;item;rating\r\nanna;ü;4\r\n' },
    [['anna', 'ü', 4]],
  ],
  [
    { name: 'pandas-with-index.csv', content: ',user_id,item_id,rating\n0,1,2,3.5\n' },
    [['1', '2', 3.5]],
  ],
  [
    {
      name: 'postgres-copy.csv',
      content: 'id,customer_id,product_id,rating,created_at\n7,1,2,4,2015-03-09 23:32:00+01\n',
    },
    [['1', '2', 4, Date.UTC(2015, 2, 9, 22, 32)]],
  ],
  [
    {
      name: 'psql-aligned.txt',
      content:
        ' user_id | item_id | rating \n---------+---------+--------\n       1 |       2 |      3\n(1 row)\n',
      flags: { 'bad-lines': 'count' },
    },
    [['1', '2', 3]],
  ],
  [
    {
      name: 'recbole.inter',
      content:
        'user_id:token\titem_id:token\trating:float\ttimestamp:float\n196\t242\t3\t881250949\n',
    },
    U_ROWS.slice(0, 1),
  ],
  [
    {
      name: 'hetrec-user_ratedmovies-timestamps.dat',
      content: 'userID\tmovieID\trating\ttimestamp\n75\t3\t1\t1162160236000\n',
    },
    [['75', '3', 1, 1_162_160_236_000]],
  ],
  [{ name: 'anime-rating.csv', content: 'user_id,anime_id,rating\n1,20,-1\n' }, [['1', '20', -1]]],
  [
    { name: 'taste-profile.txt', content: 'b80344d0\tSOAKIMP12A8C130995\t1\n' },
    [['b80344d0', 'SOAKIMP12A8C130995', 1]],
  ],
  [
    {
      name: 'food-com.csv',
      content:
        'user_id,recipe_id,date,rating,review\n38094,40893,2003-02-17,4,"Great,\nso good"\n1,2,2003-02-17,5,ok\n',
      flags: { 'bad-lines': 'count' },
    },
    [['1', '2', 5, Date.UTC(2003, 1, 17)]],
  ],
]

/** Files that are not read, and what the error says. */
const REFUSED: readonly (readonly [DataFile, readonly string[]])[] = [
  [
    { name: 'netflix-mv_0000001.txt', content: '1:\n1488844,3,2005-09-06\n' },
    ['those of Netflix', "awk -F, '/:$/"],
  ],
  [
    {
      name: 'amazon-reviews.json',
      content: '{"reviewerID": "A1", "asin": "B0", "overall": 5.0}\n',
    },
    ['is JSON', 'jq -r'],
  ],
  [{ name: 'array.json', content: '[\n  {\n    "user": 1 } ]' }, ['is JSON', 'jq -r']],
  [{ name: 'a.parquet', content: 'PAR1\x15\x04' }, ['is a Parquet file', 'duckdb -c']],
  [{ name: 'a.feather', content: 'ARROW1\0\0' }, ['is an Arrow file', 'read_feather']],
  [{ name: 'old.feather', content: 'FEA1\0\0\0\0' }, ['is an Arrow file', 'read_feather']],
  [
    { name: 'a.xlsx', content: zipOf('[Content_Types].xml') },
    ['is an Excel workbook', 'libreoffice'],
  ],
  [{ name: 'a.zip', content: zipOf('ratings.csv') }, ['is a zip archive', 'unzip -p']],
  [{ name: 'a.npz', content: zipOf('arr_0.npy') }, ['is a NumPy archive', 'numpy.load']],
  [{ name: 'a.bz2', content: 'BZh91AY' }, ['is packed with bzip2', 'bunzip2']],
  [{ name: 'a.sqlite', content: 'SQLite format 3\0' }, ['is an SQLite database', 'sqlite3 -csv']],
  [{ name: 'a.html', content: '<!DOCTYPE html>\n<html>' }, ['is a page of HTML']],
  [{ name: 'packed.json.gz', content: gzipSync('{"user": 1}') }, ['is JSON']],
  [
    {
      name: 'pandas-nanoseconds.csv',
      content: 'user,item,rating,timestamp\n1,2,3,1425941529000000000\n',
    },
    ['line 2', 'a day ahead', 'another unit'],
  ],
  [
    { name: 'decimal-comma.csv', content: 'user;item;rating\n1;2;3,5\n' },
    ['line 2', 'a number as rating'],
  ],
  [
    { name: 'pairs.csv', content: 'user_id,book_id\n9,8\n' },
    ['no column is surely the rating', '--columns rating='],
  ],
  [{ name: 'pairs-of-numbers.csv', content: '9,8\n' }, ['line 1', '--columns rating=']],
  [
    { name: 'postgres-null.tsv', content: '1\t2\t3\t\\N\n' },
    ['line 1', 'Unix seconds or milliseconds'],
  ],
  [{ name: 'hive.txt', content: '1\x012\x013\n' }, ['line 1', 'no tab, "::", comma']],
  [
    { name: 'latin1.csv', content: Buffer.from('anna,\xfc,4\n', 'latin1') },
    ['line 1', 'is not UTF-8', 'iconv -f latin1'],
  ],
  [
    {
      name: 'unknown-event.csv',
      content: 'user,item,event\n1,2,view\n1,2,share\n',
      flags: { weight: 'event=view:1' },
    },
    ['line 3', 'an event of a kind that has a weight, not "share"', '--bad-lines count'],
  ],
]

describe('ratings as people have them', () => {
  it.each(READ.map(([file, rows]) => [file.name, file, rows] as const))(
    'reads %s',
    async (_, file, rows) => {
      expect((await rowsOf(file)).rows).toEqual(rows)
    },
  )

  it.each(REFUSED.map(([file, said]) => [file.name, file, said] as const))(
    'says what is wrong with %s, and what to do',
    async (_, file, said) => {
      const message = await rowsOf(file).then(
        ({ rows }) => `read: ${JSON.stringify(rows)}`,
        (error: Error) => error.message,
      )
      expect(message).toContain(file.name)
      for (const part of said) expect(message).toContain(part)
    },
  )
})

/** LIBSVM files that are read: their labels, and ids with values by row. */
const EXAMPLES: readonly (readonly [DataFile, readonly (readonly [number, string])[]])[] = [
  [
    { name: 'a9a', content: '-1 3:1 11:1 14:1 \n+1 5:1 7:1 \n' },
    [
      [-1, '3:1 11:1 14:1'],
      [1, '5:1 7:1'],
    ],
  ],
  [{ name: 'rcv1.binary.gz', content: gzipSync('1 39:0.25 55:0.5\n') }, [[1, '39:0.25 55:0.5']]],
  [
    { name: 'news20.scale', content: '3 197:0.0625 321:0.5\n20 1:1\n' },
    [
      [3, '197:0.0625 321:0.5'],
      [20, '1:1'],
    ],
  ],
  [
    { name: 'letor.txt', content: '2 qid:10 1:3 3:0.5 # GX000-00\n0 qid:10 2:1\n' },
    [
      [2, '1:3 3:0.5'],
      [0, '2:1'],
    ],
  ],
  [{ name: 'hashed.svm', content: '1 9:1 3:0.5 9:2\n' }, [[1, '3:0.5 9:3']]],
  [{ name: 'bom.svm', content: '\ufeff1 3:1\r\n' }, [[1, '3:1']]],
  [{ name: 'utf-16.svm', content: utf16('1 3:1\r\n') }, [[1, '3:1']]],
  [{ name: 'half.svm', content: '1 3:1\n1 x:1\n', flags: { 'bad-lines': 'count' } }, [[1, '3:1']]],
]

/** Files that are no LIBSVM text. */
const NO_EXAMPLES: readonly DataFile[] = [
  { name: 'criteo-day_0.tsv', content: '0\t1\t1\t5\t68fd1e64\t80e26c9b\n' },
  { name: 'avazu-train.csv', content: 'id,click,hour,C1\n1000009418151094273,0,14102100,1005\n' },
  { name: 'vowpal.vw', content: '1 |f price:.23 sqft:.25\n' },
  { name: 'labels.svm', content: '1,2 3:1\n' },
]

describe('examples as people have them', () => {
  const read = async (file: DataFile) => {
    const { io } = recordedIo()
    const badLines = new BadLinesOfFiles(new Flags(file.flags ?? {}), io)
    return await examplesOfFile(placeOf(file), { badLines })
  }

  it.each(EXAMPLES.map(([file, rows]) => [file.name, file, rows] as const))(
    'reads %s',
    async (_, file, rows) => {
      const { labels, offsets, indexes, values } = await read(file)
      const found = rows.map((_, row) => {
        const [from, to] = [offsets[row]!, offsets[row + 1]!]
        const pairs = [...indexes.subarray(from, to)].map((id, k) => `${id}:${values[from + k]}`)
        return [labels[row], pairs.join(' ')]
      })
      expect(found).toEqual(rows)
      expect(labels).toHaveLength(rows.length)
    },
  )

  it.each(NO_EXAMPLES.map((file) => [file.name, file] as const))(
    'says what is wrong with %s',
    async (_, file) => {
      await expect(read(file)).rejects.toThrow('expected a label and feature:value pairs')
    },
  )
})

it('the guide shows the options of each file that needs some', () => {
  const page = readFileSync(join(import.meta.dirname, '../../../docs/guide/files.md'), 'utf8')
  const optionsOf = ({ flags = {} }: DataFile): string[] =>
    Object.entries(flags).map(([name, value]) =>
      value === true ? `--${name}` : `--${name} ${value}`,
    )
  const missing = READ.flatMap(([file]) => optionsOf(file)).filter(
    (option) => !page.includes(option),
  )
  expect(missing).toEqual([])
})

it('at least forty files are read or refused with a clear error', () => {
  const files = [...READ.map(([file]) => file), ...REFUSED.map(([file]) => file)]
  const all = [...files, ...EXAMPLES.map(([file]) => file), ...NO_EXAMPLES]
  expect(new Set(all.map(({ name }) => name)).size).toBe(all.length)
  expect(all.length).toBeGreaterThanOrEqual(40)
})
