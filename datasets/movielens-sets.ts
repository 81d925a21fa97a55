/** A MovieLens archive on the official site. */
export interface MovielensSet {
  readonly name: string
  /** SHA-256 of the archive, hexadecimal. */
  readonly sha256: string
  /** Files to unpack from the archive. */
  readonly files: readonly string[]
  /** Numbers of users, items and ratings. */
  readonly shape: string
}

/** Base URL of the archives, `<base>/<name>.zip`. */
export const MOVIELENS_BASE_URL = 'https://files.grouplens.org/datasets/movielens'

/** GroupLens's terms of use, in short; each archive's README has the full text. */
export const MOVIELENS_TERMS = [
  'MovieLens data, GroupLens Research, University of Minnesota. By using it you agree:',
  '  - not to state or imply that the University or GroupLens endorses you;',
  '  - to acknowledge the data set in publications: F. M. Harper and J. A. Konstan, "The MovieLens',
  '    Datasets: History and Context", ACM TiiS 5(4), 2015, https://doi.org/10.1145/2827872;',
  '  - not to redistribute it without separate permission;',
  '  - not to use it commercially without permission of GroupLens.',
].join('\n')

const FOLDS = [1, 2, 3, 4, 5].flatMap((fold) => [`ml-100k/u${fold}.base`, `ml-100k/u${fold}.test`])

/** The stable sets. `ml-latest` changes over time, so it has no checksum. */
export const MOVIELENS_SETS: readonly MovielensSet[] = [
  {
    name: 'ml-100k',
    sha256: '50d2a982c66986937beb9ffb3aa76efe955bf3d5c6b761f4e3a7cd717c6a3229',
    files: ['ml-100k/README', 'ml-100k/u.data', 'ml-100k/u.item', ...FOLDS],
    shape: '943 users, 1,682 items, 100,000 ratings, whole stars',
  },
  {
    name: 'ml-1m',
    sha256: 'a6898adb50b9ca05aa231689da44c217cb524e7ebd39d264c56e2832f2c54e20',
    files: ['ml-1m/README', 'ml-1m/ratings.dat', 'ml-1m/movies.dat'],
    shape: '6,040 users, 3,706 items, 1,000,209 ratings, whole stars',
  },
  {
    name: 'ml-10m',
    sha256: '813c411ccb6122564edfe752e7f80c4dcc5aa25fa94c93622f6877a7ba252862',
    files: ['ml-10M100K/README.html', 'ml-10M100K/ratings.dat', 'ml-10M100K/movies.dat'],
    shape: '69,878 users, 10,677 items, 10,000,054 ratings, half stars',
  },
  {
    name: 'ml-20m',
    sha256: '96f243c338a8665f6bcc89c53edf6ee39162a846940de6b7c8c48aeada765ff3',
    files: ['ml-20m/README.txt', 'ml-20m/ratings.csv', 'ml-20m/movies.csv'],
    shape: '138,493 users, 26,744 items, 20,000,263 ratings, half stars',
  },
  {
    name: 'ml-25m',
    sha256: '8b21cfb7eb1706b4ec0aac894368d90acf26ebdfb6aced3ebd4ad5bd1eb9c6aa',
    files: ['ml-25m/README.txt', 'ml-25m/ratings.csv', 'ml-25m/movies.csv'],
    shape: '162,541 users, 59,047 rated items, 25,000,095 ratings, half stars',
  },
]
