import type { WasmMemory } from '../lifetime/wasm-memory.ts'

/** The functions of a module over memories, which it imports by the names of their group. */
export function exportsOver(
  module: WebAssembly.Module,
  group: string,
  memories: Readonly<Record<string, WasmMemory>>,
): WebAssembly.Exports {
  const imports = memories as Record<string, WebAssembly.Memory>
  return new WebAssembly.Instance(module, { [group]: imports }).exports
}
