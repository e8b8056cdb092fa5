/** The most records of a page (docs/api.md, List envelope). */
export const pageRecords = 100
/**
 * Up to so many records one response can show the end of a list: there is nearly always a page size by which the last
 * page holds all these records and one newer record, which proves that none is missing.
 */
const oneAnswer = 60

/** Requests to list a range of so many records. */
export const listCost = (records: number): number =>
  records <= oneAnswer ? 1 : Math.ceil(records / pageRecords) + 1

/** Requests to find so many differences among so many records: counts that halve the ranges, then lists of the rest. */
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

/** Requests to list everything: the pages, and the first page again to close the books. */
export const fullCost = (records: number): number =>
  records <= pageRecords ? 1 : Math.ceil(records / pageRecords) + 1

/**
 * The number of cut points besides the total. A row that the warehouse lost and a record that the source deleted cancel
 * out in every count except at cut points between them: for that many cut points are better. A comparison that finds
 * nothing should be cheap: for that few are better. The result is 6 for 60,000 records and 23 for a million.
 */
export const gridSize = (records: number): number => Math.max(6, Math.ceil(Math.sqrt(records) / 45))

/** The number of further cut points where one of the first shows a difference. */
export const closerGrid = (records: number): number => Math.max(24, gridSize(records))

/** Requests of a comparison that finds nothing. */
export const quietCost = (records: number): number => Math.min(fullCost(records), 1 + gridSize(records))
