import { writeFileSync } from 'node:fs'
import { errorReference } from './error-reference.ts'

/** `npm run docs:errors`: rewrites docs/reference/errors.md from the table in src/core/errors.ts. */
writeFileSync(new URL('../docs/reference/errors.md', import.meta.url), errorReference())
