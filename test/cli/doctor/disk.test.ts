import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { checkDisk } from '../../../src/cli/doctor/disk.ts'
import { systemClock } from '../../../src/core/clock.ts'

describe('the check of a disk', () => {
  it('reports space and fsync, and leaves no file', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'weir-doctor-'))
    const findings = await checkDisk(join(folder, 'new'), systemClock)
    expect(findings.map(({ check }) => check)).toEqual(['disk', 'fsync'])
    expect(readdirSync(join(folder, 'new'))).toEqual([])
    rmSync(folder, { recursive: true })
  })

  it('reports a folder that cannot be used, by its name', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'weir-doctor-'))
    const file = join(folder, 'file')
    writeFileSync(file, '')
    const [finding] = await checkDisk(file, systemClock)
    expect(finding).toMatchObject({ check: 'disk', verdict: 'problem' })
    expect(finding!.found).toContain(file)
    rmSync(folder, { recursive: true })
  })
})
