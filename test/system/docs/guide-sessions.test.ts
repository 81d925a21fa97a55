import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { commandsOf, guidePage, runSession } from './page-session.ts'

/** What a page assumes to be there before its first command. */
const BEFORE: Readonly<Record<string, string>> = {
  'serving.md': '',
  'evaluation.md': `
    weir generate ratings --users 400 --items 200 --ratings 45000 --output all.data
    head -42000 all.data > u1.base
    tail -3000 all.data > u1.test`,
  'retraining.md': `
    weir generate ratings --users 400 --items 200 --ratings 45000 --output all.data
    head -42000 all.data > u1.base
    tail -3000 all.data > u1.test`,
  'gateway.md': `
    weir generate ratings --users 1600 --items 200 --ratings 20000 --output all.data
    weir train als --factors 4 --iterations 2 --threads 0 --ratings all.data
    { echo 1592,25,5; awk 'NR < 500 { print $1 "," $2 "," $3 }' all.data; } > ratings.csv`,
  'versions.md': `
    weir generate ratings --users 60 --items 40 --ratings 2400 --output all.data
    head -2000 all.data > most.data
    head -100 all.data > few.data
    tail -400 all.data > golden.data
    train() { weir train als --factors 4 --iterations 2 --threads 0 --ratings "$1"; }
    train most.data
    weir model list
    train all.data
    train few.data
    weir model promote 2 --force 'the page has it live'
    weir run als-serving > job.log 2>&1 &
    wait_until_live`,
}

let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'weir-pages-'))
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

it.each(Object.keys(BEFORE))(
  'docs/guide/%s: its commands run, one after the other',
  async (name) => {
    const commands = commandsOf(guidePage(name))
    expect(commands.length).toBeGreaterThan(3)
    const { code, stdout, stderr } = await runSession(
      join(folder, name),
      commands,
      BEFORE[name] as string,
    )
    expect(code, `${stdout}\n${stderr}`).toBe(0)
  },
)
