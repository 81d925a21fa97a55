import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { builtEntry, weir } from './command-process.ts'

const folder = mkdtempSync(join(tmpdir(), 'weir-pipes-'))
const data = join(folder, 'data')
const MAIN = builtEntry()

afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Runs a shell pipeline, in which `weir` is the command line; returns what it prints. */
function shell(script: string): Promise<string> {
  const weirFunction = `weir() { '${process.execPath}' '${MAIN}' "$@"; }`
  const child = spawn('sh', ['-c', `${weirFunction}; cd '${folder}'; ${script}`])
  const pieces: Buffer[] = []
  child.stdout.on('data', (piece: Buffer) => pieces.push(piece))
  child.stderr.on('data', (piece: Buffer) => pieces.push(piece))
  return new Promise((resolve) => {
    child.on('close', () => resolve(Buffer.concat(pieces).toString().trim()))
  })
}

describe('output into a pipe', () => {
  it('is complete when its reader is late', async () => {
    await shell(
      'weir topic create numbers --partitions 1; seq 1 30000 | weir topic produce numbers',
    )
    expect(await shell('weir topic consume numbers --json | (sleep 1; wc -l)')).toBe('30000')
    const command = 'weir generate ratings --ratings 60000'
    expect(await shell(`${command} | (sleep 1; wc -l)`)).toBe('60000')
  })

  it('ends the command when its reader ends', async () => {
    expect(await shell('weir topic consume numbers | head -1')).toBe('0:0  -  1')
  })
})

describe('Ctrl-C', () => {
  it('loses no line that topic produce has read', async () => {
    await weir(['topic', 'create', 'typed', '--partitions', '1', '--data-dir', data]).ended
    const typing = spawn(process.execPath, [MAIN, 'topic', 'produce', 'typed', '--data-dir', data])
    const closed = once(typing, 'close')
    // More than a pipe holds: when all of it is written, the first lines have been read.
    const more = `${'more'.repeat(20)}\n`.repeat(20_000)
    await new Promise((resolve) => typing.stdin.write(`hello\nworld\n${more}`, resolve))
    typing.kill('SIGINT')
    expect(await closed).toEqual([130, null])
    const { stdout } = await weir(['topic', 'consume', 'typed', '--data-dir', data]).ended
    expect(stdout).toContain('hello')
    expect(stdout).toContain('world')
  })

  it.each(['SIGINT', 'SIGTERM'] as const)('ends a long command at once, by %s', async (signal) => {
    const output = join(folder, `${signal}.data`)
    const words = ['generate', 'ratings', '--ratings', '100000000', '--output', output]
    const child = spawn(process.execPath, [MAIN, ...words])
    const closed = once(child, 'close')
    await expect.poll(() => existsSync(output)).toBe(true)
    child.kill(signal)
    expect(await closed).toEqual([130, null])
  })
})
