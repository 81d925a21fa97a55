import { mkdirSync, writeFileSync } from 'node:fs'
import { REFERENCE_PAGES } from './reference-pages.ts'

const REFERENCE = new URL('../docs/reference/', import.meta.url)

/* `npm run docs`: writes the generated pages of docs/reference. */
mkdirSync(new URL('api/', REFERENCE), { recursive: true })
for (const [name, text] of Object.entries(REFERENCE_PAGES)) {
  writeFileSync(new URL(name, REFERENCE), text())
}
