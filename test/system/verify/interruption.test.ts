import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { needs } from '../../run/needs.ts'
import { until } from '../../run/until.ts'
import { CommandProcess } from '../cli/command-process.ts'

const WORDS = ['--campaign', 'hostile', '--door', 'models', '--attack', 'half heads', '--seed', '1']

it.each([
  ['SIGTERM', 143],
  ['SIGINT', 130],
] as const)(
  'a campaign that %s ends leaves no process and no file behind, and ends with %d',
  needs(existsSync('/proc/self/environ'), 'processes are found in /proc'),
  async (signal, code) => {
    const folder = mkdtempSync(join(tmpdir(), 'weir-interrupted-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    await using campaign = new CommandProcess(process.execPath, ['verify/main.ts', ...WORDS], {
      env: { TMPDIR: folder },
    })
    await until('a server and attackers run', () => {
      const running = programsIn(folder)
      return ['run models', 'attacker-process'].every((name) =>
        running.some((program) => program.includes(name)),
      )
    })
    process.kill(campaign.pid, signal)
    const { stderr, ...ended } = await campaign.ended
    expect(ended.code, stderr).toBe(code)
    expect(stderr).toContain(`interrupted by ${signal}`)
    await until('all have ended', () => programsIn(folder).length === 0)
    expect(readdirSync(folder)).toEqual([])
  },
)

/** The command lines of the processes whose temporary files are in a folder. */
function programsIn(folder: string): readonly string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => readProc(pid, 'environ').includes(`TMPDIR=${folder}`))
    .map((pid) => readProc(pid, 'cmdline').replaceAll('\0', ' '))
    .filter((program) => program !== '')
}

/** What /proc says of a process; nothing when it is another user's, or gone. */
function readProc(pid: string, what: string): string {
  try {
    return readFileSync(join('/proc', pid, what), 'utf8')
  } catch {
    return ''
  }
}
