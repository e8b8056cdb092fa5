/** The largest page size (docs/dev/api.md, List envelope). */
export const pageRecords = 100
/**
 * For up to this many records, one response can show the end of a list: there is nearly always a page size that puts
 * all of them and one newer record on the last page, which proves that none is missing.
 */
const oneAnswer = 60

/** Requests to list a range of this many records. `page`: records per page. */
export const listCost = (records: number, page = pageRecords): number =>
  records <= oneAnswer * (page / pageRecords) ? 1 : Math.ceil(records / page) + 1

/**
 * Requests to find this many differences among this many records: counts that halve the ranges, then lists of the rest.
 */
export function bisectCost(records: number, differences: number, page = pageRecords): number {
  let requests = 0
  let ranges = 1
  let each = records
  while (each > page) {
    requests += ranges
    each /= 2
    ranges = Math.min(differences, ranges * 2)
  }
  return requests + ranges * listCost(each, page)
}

/**
 * Requests to list everything: the pages, one more after a full last page, and the first page again to close the books.
 */
export const fullCost = (records: number, page = pageRecords): number =>
  (records <= page ? 1 : Math.ceil(records / page) + 1) + (records > 0 && records % page === 0 ? 1 : 0)

/**
 * The number of cut points in addition to the total. A record that the warehouse never had and one that the source deleted
 * cancel out in every count except between them; that calls for many cut points. A comparison that finds nothing should
 * be cheap; that calls for few. The result is 6 for 60,000 records and 23 for a million.
 */
export const gridSize = (records: number): number => Math.max(6, Math.ceil(Math.sqrt(records) / 45))

/** The number of further cut points if one of the first shows a difference. */
export const closerGrid = (records: number): number => Math.max(24, gridSize(records))

/** Requests of a comparison that finds nothing. */
export const quietCost = (records: number, page = pageRecords): number =>
  Math.min(fullCost(records, page), 1 + gridSize(records))
