import { gzipSync, zstdCompressSync } from 'node:zlib'

/** A file as a public data set or a program has it. */
export interface DataFile {
  readonly name: string
  readonly content: string | Uint8Array
  /** Flags beside `--ratings`. */
  readonly flags?: Readonly<Record<string, string | boolean>>
}

/** User, item and rating, and the time in ms where there is one. */
export type Row = readonly [string, string, number, number?]
/** Text as Windows programs store it. */
export const utf16 = (text: string): Buffer => Buffer.from(`\ufeff${text}`, 'utf16le')
const zipOf = (first: string): Buffer =>
  Buffer.concat([Buffer.from('PK\x03\x04'), Buffer.alloc(26), Buffer.from(first)])

const U_DATA = '196\t242\t3\t881250949\n186\t302\t3\t891717742\n'
const U_ROWS: readonly Row[] = [
  ['196', '242', 3, 881_250_949_000],
  ['186', '302', 3, 891_717_742_000],
]

/** Files that are read, and what they hold. */
export const READ: readonly (readonly [DataFile, readonly Row[]])[] = [
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
export const REFUSED: readonly (readonly [DataFile, readonly string[]])[] = [
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
