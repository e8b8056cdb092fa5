/** Pages hold so many records at most (api-v1.md, List envelope). */
export const pageRecords = 100
/**
 * The end of a list is shown by its last page. Up to so many records there is nearly always a page size by which the
 * last page holds all of them and one more in front, which proves that none is missing.
 */
const oneAnswer = 60

/** Requests to list a range of so many records. */
export const listCost = (records: number): number =>
  records <= oneAnswer ? 1 : Math.ceil(records / pageRecords) + 1

/** Requests to find so many differences among so many records by counting at their middles, and to list what is left. */
export function bisectCost(records: number, differences: number): number {
  let requests = 0
  let ranges = 1
  let each = records
  while (each > pageRecords) {
    requests += ranges
    each /= 2
    ranges = Math.min(differences, ranges * 2)
  }
  return requests + ranges * listCost(each)
}

/** Requests to list everything: its pages, and the first one again to close the books. */
export const fullCost = (records: number): number =>
  records <= pageRecords ? 1 : Math.ceil(records / pageRecords) + 1

/**
 * At how many places counts are compared beside the total. A row that was lost and a record that was deleted at the
 * source cancel out in every count but those between them, so there should be many; a comparison that finds nothing
 * should be cheap, so few: 6 for 60,000 records, 23 for a million.
 */
export const gridSize = (records: number): number => Math.max(6, Math.ceil(Math.sqrt(records) / 45))

/** At how many more, where any of them shows a difference. */
export const closerGrid = (records: number): number => Math.max(24, gridSize(records))

/** Requests of a comparison that finds nothing. */
export const quietCost = (records: number): number => Math.min(fullCost(records), 1 + gridSize(records))
