/** A field of a rating that a column may hold. */
export type RatingField = 'user' | 'item' | 'rating' | 'time'

/** Names that mean nothing else. */
const EXACT: Readonly<Record<RatingField, readonly string[]>> = {
  user: ['user', 'user id', 'uid'],
  item: ['item', 'item id', 'iid'],
  rating: ['rating'],
  time: ['timestamp'],
}

/** Other words for a field; `<word>_id` is surer than `<word>`. */
const WORDS: Readonly<Record<RatingField, readonly string[]>> = {
  user: [
    ...['user', 'customer', 'reviewer', 'visitor', 'viewer', 'member', 'rater', 'listener'],
    ...['reader', 'profile'],
  ],
  item: [
    ...['item', 'movie', 'film', 'product', 'track', 'song', 'artist', 'album', 'book', 'article'],
    ...['business', 'recipe', 'anime', 'game', 'video', 'show', 'joke', 'restaurant', 'hotel'],
  ],
  rating: [
    ...['ratings', 'score', 'stars', 'overall', 'strength', 'preference', 'count', 'plays'],
    ...['playcount', 'play count', 'listen count', 'weight', 'value'],
  ],
  time: [
    ...['time', 'date', 'datetime', 'seconds', 'ts', 'review date', 'rating date', 'rated at'],
    ...['created at', 'unix time', 'unix review time'],
  ],
}

/** Ids that are not called so. */
const CODES: Readonly<Partial<Record<RatingField, readonly string[]>>> = {
  item: ['asin', 'parent asin', 'isbn', 'sku'],
}
const ID_WORDS = new Set(['id', 'key', 'code', 'no', 'number', 'index', 'idx'])
/** Last words of names that say what the value is, whatever stands before: `Book-Rating`, `reviewTime`. */
const LAST_WORDS: Readonly<Partial<Record<RatingField, ReadonlySet<string>>>> = {
  rating: new Set(['rating', 'ratings', 'score', 'stars']),
  time: new Set(['timestamp', 'time']),
}
const LABELS = new Set(['name', 'title', 'label'])

/** How surely a name is that of a field: 1 is the surest; undefined if it is not. */
export function columnRank(name: string, field: RatingField): number | undefined {
  const words = wordsOf(name)
  const text = words.join(' ')
  if (EXACT[field].includes(text)) return 1
  const [last = '', before = ''] = words.toReversed()
  const isKnown = WORDS[field].includes(before)
  const isId = isKnown && ID_WORDS.has(last)
  if ((isId && words.length === 2) || CODES[field]?.includes(text) === true) return 2
  if (WORDS[field].includes(text)) return 3
  if (isId || (before !== '' && LAST_WORDS[field]?.has(last) === true)) return 4
  return isKnown && LABELS.has(last) ? 5 : undefined
}

/** The lower-case words of a name: of `user_id`, `userId`, `User-ID`, `userID`, `userid` and `user_id:token`. */
function wordsOf(name: string): readonly string[] {
  const words = name
    .replace(/:.*$/, '')
    .replace(/([a-z\d])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '')
  const [only = ''] = words
  // `userid`, `movieid`
  return words.length === 1 && only.length > 3 && only.endsWith('id')
    ? [only.slice(0, -2), 'id']
    : words
}
