import type { CpuProfile, CpuProfileNode } from '../port/job-control.ts'

/** A node of Flink's flame graph. */
export interface FlameNode {
  readonly name: string
  /** Samples in the function and in what it called. */
  readonly value: number
  readonly children: readonly FlameNode[]
}

/** What of a thread's time a flame graph shows: computing, waiting, or both. */
export type FlameGraphType = 'full' | 'on_cpu' | 'off_cpu'

/** Names that V8 gives to time in which a thread computes nothing. */
const WAITING = new Set(['(idle)', '(program)'])

/** The flame graph of one or several profiles; samples of equal stacks are added up. */
export function flameGraphOf(profiles: readonly CpuProfile[], type: FlameGraphType): FlameNode {
  const roots = profiles.map((profile) => treeOf(profile))
  const merged = mergeNodes('root', roots)
  const children = merged.children.filter(({ name }) =>
    type === 'full' ? true : WAITING.has(name) === (type === 'off_cpu'),
  )
  return { name: 'root', value: children.reduce((sum, { value }) => sum + value, 0), children }
}

function treeOf({ nodes, samples = [] }: CpuProfile): FlameNode {
  const hits = new Map<number, number>()
  for (const id of samples) hits.set(id, (hits.get(id) ?? 0) + 1)
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const build = (node: CpuProfileNode): FlameNode => {
    const children = (node.children ?? []).map((id) => build(byId.get(id)!))
    const below = children.reduce((sum, { value }) => sum + value, 0)
    return { name: nameOf(node), value: (hits.get(node.id) ?? 0) + below, children }
  }
  const [root] = nodes
  return root === undefined ? { name: 'root', value: 0, children: [] } : build(root)
}

/** Adds up nodes with the same name on every level; drops those without a sample. */
function mergeNodes(name: string, nodes: readonly FlameNode[]): FlameNode {
  const groups = Map.groupBy(
    nodes.flatMap(({ children }) => children).filter(({ value }) => value > 0),
    (child) => child.name,
  )
  const children = [...groups].map(([child, same]) => mergeNodes(child, same))
  return { name, value: nodes.reduce((sum, { value }) => sum + value, 0), children }
}

function nameOf({ callFrame: { functionName, url, lineNumber } }: CpuProfileNode): string {
  const name = functionName === '' ? '(anonymous)' : functionName
  const file = url.split('/').slice(-2).join('/')
  return file === '' ? name : `${name} ${file}:${lineNumber + 1}`
}
