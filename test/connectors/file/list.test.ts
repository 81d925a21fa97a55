import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { filesAt } from '../../../src/connectors/file/list.ts'

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
