import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { nodeFileSystem } from '../../../src/files/node-file-system.ts'
import { scanRepository } from '../../../src/inference/repository/scan.ts'

async function settingsWith(text: string): Promise<unknown> {
  const root = mkdtempSync(join(tmpdir(), 'weir-scan-'))
  onTestFinished(() => rmSync(root, { recursive: true }))
  mkdirSync(join(root, 'net'))
  writeFileSync(join(root, 'net', 'deployment.yaml'), text)
  const { models } = await scanRepository(nodeFileSystem, root)
  return models[0]!.settings
}

it('settings that an editor has emptied to write them again are an error, and not the defaults', async () => {
  const error = { code: 'MALFORMED_DATA', message: expect.stringContaining('half written') }
  expect(await settingsWith('')).toMatchObject(error)
  expect(await settingsWith('slo-ms: 7\n')).toMatchObject({ deployment: { sloMs: 7 } })
  for (const text of ['{}', '# none\n']) {
    expect(await settingsWith(text)).not.toHaveProperty('code')
  }
})
