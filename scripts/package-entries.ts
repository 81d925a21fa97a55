import { readdirSync, readFileSync } from 'node:fs'
import { join, relative, resolve, sep } from 'node:path'

const ROOT = resolve(import.meta.dirname, '..')
const SRC = join(ROOT, 'src')

/** Modules of `src`, without `.ts`, that keep their paths in the package: its exports, its command, and what is started by URL. */
export function packageEntries(): readonly string[] {
  return [...new Set([...exportedModules(), ...startedModules()])]
}

/** The modules that package.json names. */
function exportedModules(): readonly string[] {
  const { exports, bin } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    exports: Record<string, { default: string }>
    bin: Record<string, string>
  }
  const built = [...Object.values(exports).map((entry) => entry.default), ...Object.values(bin)]
  return built.map((file) => file.replace('./dist/', '').replace(/\.js$/, ''))
}

/** The modules that `siblingModule` names: the first modules of threads and processes, and of jobs. */
export function startedModules(): readonly string[] {
  const files = readdirSync(SRC, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.name.endsWith('.ts'),
  )
  return files.flatMap(({ parentPath, name }) => {
    const calls = readFileSync(join(parentPath, name), 'utf8').matchAll(
      /siblingModule\(\s*'([^']+)'/g,
    )
    return [...calls].map(([, path]) =>
      relative(SRC, resolve(parentPath, path!)).split(sep).join('/'),
    )
  })
}
