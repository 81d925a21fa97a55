import { availableParallelism, totalmem } from 'node:os'
import { type Finding, ok } from './finding.ts'
import { coresFinding, memoryFinding, nativeModuleFinding, nodeFinding } from './verdicts.ts'

/** Checks Node, cores, memory and the platform. */
export function checkMachine(): readonly Finding[] {
  return [
    nodeFinding(process.versions.node),
    ok('platform', platform()),
    coresFinding(availableParallelism()),
    // 0 where Node cannot tell; Infinity where nothing limits the process.
    memoryFinding(Math.min(totalmem(), process.constrainedMemory() || totalmem())),
  ]
}

function platform(): string {
  const { header } = process.report.getReport() as {
    header: { glibcVersionRuntime?: string }
  }
  const libc = header.glibcVersionRuntime
  const name = `${process.platform} ${process.arch}`
  if (process.platform !== 'linux') return name
  return `${name}, ${libc === undefined ? 'musl or another C library' : `glibc ${libc}`}`
}

/** Native modules, how each is loaded, and what takes its place. */
const NATIVE_MODULES: Readonly<
  Record<string, { readonly load: () => Promise<unknown>; readonly fallback: string }>
> = {
  rocksdb: {
    load: () => import('../../state/store/rocksdb.ts'),
    fallback: 'LevelDB takes its place for spilled state',
  },
  leveldb: {
    load: () => import('../../state/store/leveldb.ts'),
    fallback: 'state that does not fit into memory needs RocksDB',
  },
  crc32: {
    load: () => import('@node-rs/crc32'),
    fallback: 'checksums are computed in JavaScript, more slowly',
  },
  snappy: {
    load: () => import('snappy'),
    fallback: 'topics compressed with snappy cannot be read',
  },
  lz4: { load: () => import('lz4-napi'), fallback: 'topics compressed with lz4 cannot be read' },
}

/** Checks that each native module loads on this platform. */
export async function checkNativeModules(): Promise<readonly Finding[]> {
  const modules = Object.entries(NATIVE_MODULES)
  return await Promise.all(
    modules.map(async ([name, { load, fallback }]) => {
      const failure = await load().then(
        () => undefined,
        (error: unknown) => (error instanceof Error ? error.message : String(error)),
      )
      return nativeModuleFinding(name, failure, fallback)
    }),
  )
}
