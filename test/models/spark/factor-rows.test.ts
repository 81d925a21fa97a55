import { cpSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { PublishableRow } from '../../../src/models/publish/model.ts'
import { sparkRowFiles } from '../../../src/models/spark/factor-rows.ts'
import { temporaryFolder } from '../../connectors/log/fixture.ts'

const ALS = join(import.meta.dirname, 'folders/als')

async function rowsAt(place: string): Promise<PublishableRow[]> {
  const files = await sparkRowFiles(place)
  const rows: PublishableRow[] = []
  let read = 0
  for await (const row of files.rows((bytes) => {
    expect(bytes).toBeGreaterThan(read)
    read = bytes
  })) {
    rows.push(row)
  }
  expect(read).toBe(files.bytes)
  return rows
}

/** A copy of the folder, to damage. */
function copy(): string {
  const place = join(temporaryFolder(), 'als')
  cpSync(ALS, place, { recursive: true })
  return place
}

it('an ALSModel has the rows that Spark printed, users before items', async () => {
  const rows = await rowsAt(ALS)
  const keys = rows.map(({ id, kind }) => `${id}-${kind}`)
  expect(keys.slice(0, 7).toSorted()).toEqual(['1-U', '2-U', '3-U', '4-U', '5-U', '6-U', '7-U'])
  expect(keys.slice(7).toSorted()).toEqual(['10-I', '11-I', '12-I', '13-I', '14-I'])
  const printed: Record<string, readonly number[]> = {
    '1-U': [2.8871233463287354, -1.8269233703613281, 0.22416430711746216],
    '7-U': [0.1602553427219391, 3.165090560913086, -0.9583731293678284],
    '14-I': [1.8979175090789795, 0.1074836328625679, -3.2215163707733154],
  }
  for (const [key, vector] of Object.entries(printed)) {
    expect([...rows[keys.indexOf(key)]!.vector], key).toEqual(vector)
  }
})

it('a file that is cut off, or has other columns, is refused with its name', async () => {
  const place = copy()
  const users = join(place, 'userFactors')
  writeFileSync(join(users, readdirSync(users)[0]!), 'PAR1')
  await expect(rowsAt(place)).rejects.toMatchObject({
    code: 'MALFORMED_DATA',
    message: expect.stringMatching(/userFactors.*part-0.*damaged or cut off/),
  })
  const other = copy()
  rmSync(join(other, 'userFactors'), { recursive: true })
  cpSync(join(ALS, '../svc/data'), join(other, 'userFactors'), { recursive: true })
  await expect(rowsAt(other)).rejects.toMatchObject({
    code: 'MALFORMED_DATA',
    message: expect.stringMatching(/has the columns coefficients, intercept, and not id, features/),
  })
})

it('a folder without the files of a side is refused, and nothing is left out', async () => {
  const place = copy()
  rmSync(join(place, 'itemFactors'), { recursive: true })
  await expect(rowsAt(place)).rejects.toMatchObject({
    code: 'FILE_NOT_FOUND',
    message: expect.stringMatching(/no folder "itemFactors"; name the folder that model\.save/),
  })
})
