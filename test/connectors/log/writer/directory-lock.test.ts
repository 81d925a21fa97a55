import * as fs from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { EmbeddedLog } from '../../../../src/connectors/log/embedded-log.ts'
import { releaseLock, takeLock } from '../../../../src/connectors/log/writer/directory-lock.ts'
import { temporaryFolder } from '../fixture.ts'

/** A lock as this process writes it, with other fields. */
function lockWith(folder: string, fields: object): string {
  const path = join(folder, '.lock')
  takeLock(folder, 0)
  const mine = JSON.parse(fs.readFileSync(path, 'utf8'))
  fs.writeFileSync(path, JSON.stringify({ ...mine, pid: 2 ** 22 + 1, ...fields }))
  return path
}

describe('the lock of a log', () => {
  it('of an ended process is taken over', () => {
    const folder = temporaryFolder()
    lockWith(folder, {})
    expect(takeLock(folder, 0)).toEqual({ kind: 'taken' })
    releaseLock(folder, 0)
    expect(fs.existsSync(join(folder, '.lock'))).toBe(false)
  })

  it.each([
    ['another container', { pidNamespace: 'pid:[1]' }],
    ['another machine', { host: 'elsewhere', boot: 'other' }],
  ])('of %s is not stolen, and the error says what to do', (_, fields) => {
    const folder = temporaryFolder()
    const path = lockWith(folder, fields)
    expect(() => takeLock(folder, 0)).toThrow(`remove ${path}`)
  })

  it('of a container whose socket nothing serves any more is taken over', async () => {
    const folder = temporaryFolder()
    lockWith(folder, { pidNamespace: 'pid:[1]' })
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(join(folder, 'a'), resolve))
    fs.linkSync(join(folder, 'a'), join(folder, '.owner.sock'))
    await new Promise((resolve) => server.close(resolve))
    const log = await EmbeddedLog.open(folder)
    await log.close()
  })

  it('that a power cut left empty is taken over', () => {
    const folder = temporaryFolder()
    const path = join(folder, '.lock')
    fs.writeFileSync(path, '')
    expect(() => takeLock(folder, 0)).toThrow(/remove it if no process uses the log/)
    fs.utimesSync(path, 1, 1)
    expect(takeLock(folder, 0)).toEqual({ kind: 'taken' })
  })
})
