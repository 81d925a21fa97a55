import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { REPOSITORY } from '../cli/command-process.ts'

/** Puts the package of the repository into a project, in place of an installed one. */
export function installPackage(project: string): void {
  const installed = join(project, 'node_modules/@weirjs/weir')
  mkdirSync(installed, { recursive: true })
  const { name, type } = JSON.parse(
    readFileSync(join(REPOSITORY, 'package.json'), 'utf8'),
  ) as Record<string, string>
  const exports = { '.': './src/index.ts', './testing': './src/testing/index.ts' }
  writeFileSync(join(installed, 'package.json'), JSON.stringify({ name, type, exports }))
  symlinkSync(join(REPOSITORY, 'src'), join(installed, 'src'))
}
