import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { Flags } from '../../../src/cli/command/command.ts'
import { ratingsOfFile } from '../../../src/cli/files/ratings-file.ts'
import { ratingsReadingOf } from '../../../src/cli/files/ratings-reading.ts'
import { parseWebHdfsUrl } from '../../../src/files/webhdfs/address.ts'
import { WebHdfsClient } from '../../../src/files/webhdfs/client.ts'
import { ratingsOf } from '../../../src/training/data/ratings-table.ts'
import { recordedIo } from '../../cli/recorded-io.ts'
import { type SharedHdfs, sharedHdfs } from '../../services/lending/hdfs.ts'

const PACKINGS = join(import.meta.dirname, '../../cli/files/parquet/packings')

let cluster: SharedHdfs

beforeAll(async () => {
  cluster = await sharedHdfs()
})

afterAll(async () => {
  await cluster?.[Symbol.asyncDispose]()
})

async function ratingsAt(place: string) {
  const { io } = recordedIo()
  return [...ratingsOf(await ratingsOfFile(place, ratingsReadingOf(new Flags({}), io)))]
}

it('Parquet files in a folder of HDFS give the ratings of the same rows in csv', async () => {
  const client = new WebHdfsClient(parseWebHdfsUrl(cluster.url('/')))
  const names = ['zstd.parquet', 'delta.parquet']
  for (const name of names) {
    await client.writeFile(`/parquet/${name}`, readFileSync(join(PACKINGS, name)))
  }
  client.close()
  const expected = await ratingsAt(join(PACKINGS, 'none.csv'))
  expect(await ratingsAt(cluster.url('/parquet/zstd.parquet'))).toEqual(expected)
  expect(await ratingsAt(cluster.url('/parquet'))).toEqual([...expected, ...expected])
})
