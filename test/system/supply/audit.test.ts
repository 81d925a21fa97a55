import { spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { LONGEST_BLOCK_MS } from '../../run/until.ts'

/** What `.ci/audit` says when npm answers so. */
function auditWith(answer: string, status: number) {
  const folder = mkdtempSync(join(tmpdir(), 'weir-audit-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const npm = join(folder, 'npm')
  writeFileSync(npm, `#!/usr/bin/env bash\ncat <<'END'\n${answer}\nEND\nexit ${status}\n`)
  chmodSync(npm, 0o755)
  const PATH = `${folder}${delimiter}${process.env['PATH']}`
  const run = spawnSync('bash', ['.ci/audit'], {
    encoding: 'utf8',
    env: { ...process.env, PATH },
    timeout: LONGEST_BLOCK_MS,
  })
  return { status: run.status, out: run.stdout }
}

it.each([
  [
    'no vulnerability',
    '{"auditReportVersion":2,"vulnerabilities":{}}',
    0,
    0,
    'no known vulnerability',
  ],
  [
    'a vulnerability',
    '{"auditReportVersion":2,"vulnerabilities":{"x":{"severity":"high"}}}',
    1,
    1,
    'known vulnerabilities',
  ],
  [
    'no answer of the registry',
    'npm warn audit 405 Method Not Allowed - POST https://registry.example.org',
    1,
    0,
    'NOT CHECKED: the registry did not answer: npm warn audit 405 Method Not Allowed',
  ],
  ['no answer at all', '', 1, 0, 'NOT CHECKED'],
  ['an answer of another form', 'fine', 0, 0, 'NOT CHECKED'],
])('the audit of CI says %s', (_, answer, npmStatus, status, text) => {
  const run = auditWith(answer, npmStatus)
  expect(run.out).toContain(text)
  expect(run.status).toBe(status)
})
