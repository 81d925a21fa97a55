import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { runCommandLine } from '../../../src/cli/run-command-line.ts'
import { TokenVerifier } from '../../../src/http/access/token-verifier.ts'
import { readTokens } from '../../../src/http/access/tokens-on-disk.ts'
import { addUses } from '../../../src/http/access/uses-file.ts'
import { temporaryFolder } from '../../connectors/log/fixture.ts'
import { recordedIo } from '../recorded-io.ts'

async function run(...argv: string[]): Promise<{ code: number; out: string[]; err: string[] }> {
  const { io, out, err } = recordedIo()
  return { code: await runCommandLine(argv, io), out, err }
}

const newFile = (): string => join(temporaryFolder(), 'tokens.json')

describe('weir token', () => {
  it('prints a token once and keeps its hash alone, in a file for this user', async () => {
    const file = newFile()
    const { code, out } = await run('token', 'create', '--role', 'write', '--file', file)
    expect(code).toBe(0)
    const [token] = out
    expect(out).toHaveLength(1)
    expect(token).toMatch(/^weir_[0-9a-f]{12}_[A-Za-z0-9_-]{43}$/)
    expect(readFileSync(file, 'utf8')).not.toContain(token!.slice(18))
    expect(statSync(file).mode & 0o777).toBe(0o600)
    const records = readTokens(file)
    expect(new TokenVerifier({ records }).verify(token!, Date.now())).toMatchObject({
      role: 'write',
    })
  })

  it('writes a token to a new file that only this user may read, and to no other', async () => {
    const file = newFile()
    const out = join(temporaryFolder(), 'ingest.token')
    const create = ['token', 'create', '--role', 'write', '--file', file, '--out', out]
    const created = await run(...create)
    expect(created).toMatchObject({ code: 0, out: [] })
    expect(statSync(out).mode & 0o777).toBe(0o600)
    const token = readFileSync(out, 'utf8').trimEnd()
    expect(created.err.join()).not.toContain(token)
    const records = readTokens(file)
    expect(new TokenVerifier({ records }).verify(token, Date.now())).toBeDefined()
    const again = await run(...create)
    expect(again.err.join()).toContain('FILE_EXISTS')
    expect(readTokens(file)).toEqual(records)
  })

  it('adds tokens to a file, lists them without hashes, and revokes them', async () => {
    const file = newFile()
    const create = ['token', 'create', '--tokens', file, '--json', '--role']
    const first = JSON.parse((await run(...create, 'read', '--name', 'dashboard')).out[0]!)
    const second = JSON.parse(
      (await run(...create, 'admin', '--days', '30', '--rate', '10.5')).out[0]!,
    )
    const list = await run('token', 'list', '--tokens', file)
    expect(list.out).toHaveLength(2)
    expect(list.out[0]).toMatch(
      new RegExp(`^${first.id} {2}read .*never expires .*no limit .*dashboard$`),
    )
    expect(list.out[1]).toMatch(/admin .*expires 20\d\d-.*10\.5\/s, burst 11/)
    expect((await run('token', 'list', '--tokens', file, '--json')).out.join()).not.toContain(
      'sha256',
    )
    expect(await run('token', 'revoke', first.id, '--tokens', file)).toMatchObject({ code: 0 })
    expect(readTokens(file).map(({ id }) => id)).toEqual([second.id])
  })

  it('lists when and from where each token was last used, beside its rights', async () => {
    const file = newFile()
    const create = ['token', 'create', '--tokens', file, '--json', '--role', 'read']
    const used = JSON.parse((await run(...create, '--right', 'read:model:fraud-*')).out[0]!)
    await run(...create)
    await addUses(file, new Map([[used.id, { lastMs: 1_000, from: '10.0.0.7' }]]))
    const [first, second] = (await run('token', 'list', '--tokens', file)).out
    expect(first).toMatch(/read:model:fraud-\*/)
    expect(first).toContain('used 1970-01-01T00:00:01Z from 10.0.0.7')
    expect(second).not.toContain('10.0.0.7')
  })

  it.each([
    ['no role', ['create'], '--role ROLE is required'],
    ['a wrong role', ['create', '--role', 'root'], '--role must be one of read, write, admin'],
    ['a rate of 0', ['create', '--role', 'read', '--rate', '0'], '--rate must be a number above 0'],
    ['a burst alone', ['create', '--role', 'read', '--burst', '5'], '--burst needs --rate'],
    [
      'a name of two lines',
      ['create', '--role', 'read', '--name', 'a\nb'],
      '--name must be at most',
    ],
    ['no id to revoke', ['revoke'], 'missing arguments. Usage: weir token revoke ID...'],
  ])('refuses %s', async (_, words, message) => {
    const { code, err } = await run('token', ...words, '--file', newFile())
    expect({ code, err: err.join() }).toEqual({ code: 2, err: expect.stringContaining(message) })
  })

  it('revokes nothing if one id is unknown, and does not repeat a token that was given instead', async () => {
    const file = newFile()
    const { out } = await run('token', 'create', '--role', 'read', '--file', file)
    const { code, err } = await run('token', 'revoke', out[0]!, '--file', file)
    expect(code).toBe(2)
    expect(err.join()).not.toContain(out[0])
    expect(readTokens(file)).toHaveLength(1)
  })

  it('does not overwrite a file that it cannot read', async () => {
    const file = newFile()
    await run('token', 'create', '--role', 'read', '--file', file)
    writeFileSync(file, 'something else')
    const { code, err } = await run('token', 'create', '--role', 'read', '--file', file)
    expect({ code, err: err.join() }).toEqual({
      code: 1,
      err: expect.stringContaining('MALFORMED_DATA'),
    })
    expect(readFileSync(file, 'utf8')).toBe('something else')
  })
})
