import { writeFileSync } from 'node:fs'
import { REFERENCE_PAGES } from './reference-pages.ts'

/** `npm run docs`: writes the pages of docs/reference that follow from the source. */
for (const [name, text] of Object.entries(REFERENCE_PAGES)) {
  writeFileSync(new URL(`../docs/reference/${name}`, import.meta.url), text())
}
