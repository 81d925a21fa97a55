import type { ComponentChildren } from 'preact'

/** A figure with its name. */
export interface Figure {
  readonly name: string
  readonly value: ComponentChildren
  readonly note?: string | undefined
}

/** Figures side by side. */
export function Figures({ figures }: { readonly figures: readonly Figure[] }) {
  return (
    <dl class="figures">
      {figures.map(({ name, value, note }) => (
        <div key={name} class="figure">
          <dt>{name}</dt>
          <dd>
            {value}
            {note === undefined ? null : <small>{note}</small>}
          </dd>
        </div>
      ))}
    </dl>
  )
}
