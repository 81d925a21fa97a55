import { mkdtempSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { type AuditEntry, auditTrail } from '../../../src/http/access/audit.ts'
import { ManualClock } from '../../../src/testing/manual-clock.ts'

const DONE: AuditEntry = {
  who: '0a1b2c3d4e5f',
  name: 'Jörg',
  from: '10.0.0.7',
  did: 'cancel',
  on: 'jobid=a1',
  outcome: 'accepted',
  status: '202',
}
const REFUSED: AuditEntry = { ...DONE, outcome: 'refused', status: '403' }

function trail(options: { readonly isJson?: boolean; readonly file?: string } = {}) {
  const lines: string[] = []
  const clock = new ManualClock(1_000)
  const note = auditTrail({ write: (line) => lines.push(line), clock, ...options })
  return { lines, clock, note }
}

it('an audit line says who, from where, what and the outcome', () => {
  const { lines, note } = trail()
  note(DONE)
  note({ ...DONE, who: 'nobody', name: '', from: '', on: '', outcome: 'refused', status: '401' })
  expect(lines).toEqual([
    'audit: 0a1b2c3d4e5f (Jörg) from 10.0.0.7: cancel jobid=a1: accepted (202)',
    'audit: nobody: cancel: refused (401)',
  ])
})

it('an audit line is one printable line, whatever a client sends', () => {
  const { lines, note } = trail()
  note({ ...DONE, on: 'version=1\naudit: root: all is well\x1b[2J' })
  expect(lines).toHaveLength(1)
  expect(lines[0]).toContain('version=1\\naudit: root: all is well\\x1b[2J')
})

it('an audit line in JSON has its parts as fields', () => {
  const { lines, note } = trail({ isJson: true })
  note(REFUSED)
  expect(JSON.parse(lines[0]!)).toMatchObject({
    level: 40,
    time: 1_000,
    name: 'weir',
    audit: REFUSED,
  })
})

it('refusals are written at most once a second in the long run, and say how many are missing; changes always', () => {
  const { lines, clock, note } = trail({ isJson: true })
  for (let n = 0; n < 1_000; n++) note(REFUSED)
  expect(lines).toHaveLength(20)
  for (let n = 0; n < 100; n++) note(DONE)
  expect(lines).toHaveLength(120)
  expect(JSON.parse(lines[20]!).audit.unwritten).toBe(980)
  expect(JSON.parse(lines[21]!).audit.unwritten).toBeUndefined()
  clock.advance(3_000)
  for (let n = 0; n < 1_000; n++) note(REFUSED)
  expect(lines).toHaveLength(123)
})

it('an audit file has the lines as JSON, is for its owner alone, and may be moved away', () => {
  const folder = mkdtempSync(join(tmpdir(), 'weir-audit-'))
  const file = join(folder, 'audit.log')
  const { lines, note } = trail({ file })
  note(DONE)
  note(REFUSED)
  expect(
    readFileSync(file, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).audit),
  ).toEqual([DONE, REFUSED])
  expect(statSync(file).mode & 0o777).toBe(0o600)
  renameSync(file, `${file}.1`)
  note(DONE)
  expect(readFileSync(file, 'utf8').trim().split('\n')).toHaveLength(1)
  rmSync(folder, { recursive: true })
  note(DONE)
  expect(lines.at(-1)).toMatch(/^audit: warning: the line is not in .*audit\.log/)
  expect(lines.at(-2)).toMatch(/^audit: 0a1b2c3d4e5f/)
})
