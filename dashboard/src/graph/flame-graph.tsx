import { useState } from 'preact/hooks'
import type { FlameNode } from '../data/answers.ts'
import { RestError, read } from '../data/rest.ts'
import { percentText } from '../format.ts'
import { Notice } from '../parts/notice.tsx'

/** Functions with a smaller share of the samples are left out. */
const LEAST = 0.01
/** Calls that are drawn at most, one below the other. */
const DEPTH = 30

/** What the threads of a vertex compute, sampled when the reader asks for it. */
export function FlameGraph({ path }: { readonly path: string }) {
  const [root, setRoot] = useState<FlameNode>()
  const [error, setError] = useState<RestError>()
  const [isBusy, setBusy] = useState(false)
  const take = async (): Promise<void> => {
    setBusy(true)
    setError(undefined)
    try {
      setRoot((await read<{ data: FlameNode }>(`${path}/flamegraph?type=on_cpu`)).data)
    } catch (failure) {
      if (failure instanceof RestError) setError(failure)
    } finally {
      setBusy(false)
    }
  }
  return (
    <div>
      <button type="button" disabled={isBusy} onClick={() => void take()}>
        {isBusy ? 'Sampling …' : 'Take a flame graph'}
      </button>
      {error === undefined ? null : <Notice error={error} />}
      {root === undefined ? null : <Flames root={root} />}
    </div>
  )
}

function Flames({ root }: { readonly root: FlameNode }) {
  if (root.value === 0) return <p class="quiet">The threads computed nothing in that time.</p>
  return (
    <ul class="flames" aria-label="Functions by their share of the samples">
      {root.children.map((node) => (
        <Flame key={node.name} node={node} total={root.value} within={root.value} depth={0} />
      ))}
    </ul>
  )
}

interface FlameProps {
  readonly node: FlameNode
  /** Samples of the whole graph, and of the function that called this one. */
  readonly total: number
  readonly within: number
  readonly depth: number
}

function Flame({ node, total, within, depth }: FlameProps) {
  if (node.value / total < LEAST || depth > DEPTH) return null
  const text = `${node.name} ${percentText(node.value / total)}`
  return (
    <li style={{ width: `${(node.value / within) * 100}%` }}>
      <span class={`flame heat-${depth % 3}`} title={text}>
        {text}
      </span>
      <ul>
        {node.children.map((child) => (
          <Flame
            key={child.name}
            node={child}
            total={total}
            within={node.value}
            depth={depth + 1}
          />
        ))}
      </ul>
    </li>
  )
}
