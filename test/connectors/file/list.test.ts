import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { filesAt, filesBelow } from '../../../src/connectors/file/list.ts'

it('a folder with another folder in it is refused, not read in part; hidden folders do not count', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'weir-list-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(join(folder, 'part-0'), '1,2,3\n')
  mkdirSync(join(folder, '_temporary'))
  mkdirSync(join(folder, '.git'))
  expect(await filesAt(folder)).toEqual([{ place: join(folder, 'part-0'), bytes: 6 }])
  mkdirSync(join(folder, 'dt=1'))
  writeFileSync(join(folder, 'dt=1', 'part-0'), '1,2,3\n')
  await expect(filesAt(folder)).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
    message: expect.stringContaining('has the folder "dt=1", and folders in a folder are not read'),
  })
  expect(await filesAt(join(folder, 'dt=1'))).toHaveLength(1)
})

it('all files below a folder are those of its folders, and hidden ones, too', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'weir-list-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const names = ['part-0', '.pending-part-0.txt', join('_old', '.deep', 'part-1')]
  for (const name of names) {
    mkdirSync(join(folder, name, '..'), { recursive: true })
    writeFileSync(join(folder, name), '1,2,3\n')
  }
  const places = names.map((name) => join(folder, name))
  expect((await filesBelow(folder)).toSorted()).toEqual(places.toSorted())
  expect(await filesBelow(places[0]!)).toEqual([places[0]])
  // That nothing is there is found by who reads it.
  expect(await filesBelow(join(folder, 'gone'))).toEqual([join(folder, 'gone')])
})
