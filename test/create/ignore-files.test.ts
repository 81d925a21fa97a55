import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'

it.each(['gitignore', 'dockerignore'])(
  'a new project keeps secrets out of its repository and its image: %s',
  (name) => {
    const lines = readFileSync(`create/template/${name}`, 'utf8').split('\n')
    for (const secret of ['tokens.json', '*.token', '*.key', '*.pem', '.env']) {
      expect(lines).toContain(secret)
    }
  },
)
