import { numberText } from '../format.ts'

/** Longest text of a value in a table, characters. */
const LONGEST = 80
/** Numbers of a row in a table. */
const FIRST = 6

/** A row as bars around zero (of the square roots, so that small ones are seen) and numbers, or any other value as JSON. */
export function StateValue({ value }: { readonly value: unknown }) {
  if (!isRow(value)) {
    return (
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a text that scrolls must be reachable by keyboard
      <pre tabIndex={0}>{JSON.stringify(value, null, 2)}</pre>
    )
  }
  const most = Math.max(1e-12, ...value.map(Math.abs))
  const norm = Math.hypot(...value)
  return (
    <div class="row-value">
      <p class="quiet">
        {value.length} numbers, norm {numberText(norm)}
      </p>
      <ol class="row-numbers">
        {value.map((number, i) => (
          <li key={i}>
            <span aria-hidden="true">
              <i
                class={number < 0 ? 'negative' : ''}
                style={{ width: `${Math.sqrt(Math.abs(number) / most) * 50}%` }}
              />
            </span>
            <code>{number.toPrecision(5)}</code>
          </li>
        ))}
      </ol>
    </div>
  )
}

/** A value in one line. */
export function shortValue(value: unknown): string {
  if (isRow(value)) {
    const first = value.slice(0, FIRST).map((number) => number.toPrecision(3))
    return `[${first.join(', ')}${value.length > FIRST ? ', …' : ''}]`
  }
  const text = JSON.stringify(value) ?? String(value)
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text
}

function isRow(value: unknown): value is readonly number[] {
  return (
    Array.isArray(value) && value.length > 0 && value.every((number) => typeof number === 'number')
  )
}
