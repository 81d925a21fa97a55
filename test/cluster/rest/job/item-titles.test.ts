import { expect, it } from 'vitest'
import { parseItemTitles } from '../../../../src/cluster/rest/job/item-titles.ts'

it('titles of items come from CSV, MovieLens and tabs; other lines are skipped', () => {
  const text = [
    '1,Toy Story',
    '2,"Three Colors: ""Blue"", 1993"',
    '3::GoldenEye (1995)::Action',
    '4|Get Shorty|01-Jan-1995',
    '5\tCopycat\r',
    'no separator',
    ',no id',
    '6,',
  ]
  expect([...parseItemTitles(text.join('\n'))]).toEqual([
    ['1', 'Toy Story'],
    ['2', 'Three Colors: "Blue", 1993'],
    ['3', 'GoldenEye (1995)'],
    ['4', 'Get Shorty'],
    ['5', 'Copycat'],
  ])
})
