import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** A rule of accessibility that a page breaks, with how bad that is and three of the elements. */
export interface Violation {
  readonly id: string
  readonly impact: string
  readonly elements: readonly string[]
}

/** Rules of axe that a page breaks. */
export async function violations(page: Page): Promise<readonly Violation[]> {
  // The content security policy allows no inline script; what the browser's debugger runs is exempt.
  if (await page.evaluate(() => !('axe' in globalThis))) await page.evaluate(AXE)
  return await page.evaluate(async () => {
    const { axe } = globalThis as unknown as { axe: Axe }
    // Of what passes, it describes nothing.
    const { violations } = await axe.run({ resultTypes: ['violations'] })
    return violations.map(({ id, impact, nodes }) => {
      return { id, impact, elements: nodes.map(({ html }) => html).slice(0, 3) }
    })
  })
}

/** Those that are serious or critical. */
export async function seriousViolations(page: Page): Promise<readonly Violation[]> {
  const all = await violations(page)
  return all.filter(({ impact }) => impact === 'serious' || impact === 'critical')
}

interface Axe {
  run(options: { readonly resultTypes: readonly string[] }): Promise<AxeResult>
}

interface AxeResult {
  readonly violations: readonly {
    readonly id: string
    readonly impact: string
    readonly nodes: readonly { readonly html: string }[]
  }[]
}
