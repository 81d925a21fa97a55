import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { makeOwnFolder, ownTemporaryFolder } from '../../src/files/own-folder.ts'

const root = mkdtempSync(join(tmpdir(), 'weir-own-folder-'))
const hasUsers = process.getuid !== undefined

afterAll(() => rmSync(root, { recursive: true, force: true }))

it('a folder of this user is made once, for this user alone', () => {
  const folder = join(root, 'mine')
  expect([makeOwnFolder(folder), makeOwnFolder(folder)]).toEqual([true, true])
  if (hasUsers) expect(statSync(folder).mode & 0o777).toBe(0o700)
})

it('a link, a file, and a folder that others can write to are no folder of this user', () => {
  const [link, file, open] = [join(root, 'link'), join(root, 'file'), join(root, 'open')]
  mkdirSync(join(root, 'target'))
  symlinkSync(join(root, 'target'), link)
  writeFileSync(file, '')
  mkdirSync(open)
  chmodSync(open, 0o777)
  expect([makeOwnFolder(link), makeOwnFolder(file)]).toEqual([false, false])
  if (hasUsers) expect(makeOwnFolder(open)).toBe(false)
})

it('the folder of temporary files has a name of its own for each user', () => {
  const suffix = hasUsers ? `-${process.getuid!()}` : ''
  expect(ownTemporaryFolder('weir-x')).toBe(join(tmpdir(), `weir-x${suffix}`))
})
