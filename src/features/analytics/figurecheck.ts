/**
 * Checks the declarations of figures; the build runs it. Each name in an expression must be a column of the figure's
 * view, and nothing may be summed that has no sum. Views are made from the declarations: a wrong one would break all of
 * shop_months.
 */
import {
  addsUp,
  type DeclaredFigure,
  isMoment,
  leftOutMeasure,
  type Measure,
} from '../../../schema/figure.js'
import { namesIn } from '../../../schema/periods.js'
import { snapshotColumns } from '../../../schema/snapshot.js'
import { isSummable, type ViewColumn } from '../../../schema/view.js'

/** The SQL words that a figure's expression may use. */
const words = new Set(
  'and or not null is in case when then else end true false coalesce abs between cast as bigint nullif'.split(
    ' ',
  ),
)

const quotedList = (names: readonly string[]): string => names.join(', ')

/** Names in each part of a figure's declaration that its view doesn't have. */
function unknownNames(figure: DeclaredFigure): string[] {
  const { relation, numerator, denominator, leavesOut, where = '' } = figure
  const measures = [numerator, denominator, leavesOut && leftOutMeasure(leavesOut)].flatMap((measure) =>
    measure ? Object.values(measure).join(' ') : [],
  )
  const named = [...measures, where].flatMap(namesIn).filter((name) => !words.has(name))
  return [...new Set([...named, ...figure.by, ...(figure.day ? [figure.day] : [])])].filter(
    (name) => !(name in relation.columns),
  )
}

/** The columns a sum adds, without the conditions of a `case`. */
const addedNames = (sum: string): string[] =>
  namesIn(sum.replaceAll(/\b(when|case)\b.*?\bthen\b/g, ' ')).filter((name) => !words.has(name))

/** Ratios, rates and prices can't be summed: an item sold twice would count its price twice. */
function unsummable({ relation }: DeclaredFigure, measure: Measure | undefined): string[] {
  if (!measure || !('sum' in measure)) return []
  const columns: Readonly<Record<string, ViewColumn>> = relation.columns
  return addedNames(measure.sum).filter((name) => {
    const column = columns[name]
    return column !== undefined && !isSummable(column)
  })
}

function complaintsOf(figure: DeclaredFigure, all: readonly DeclaredFigure[]): string[] {
  const { name, relation, numerator, denominator, leavesOut, snapshot, day, splits } = figure
  const complaints: string[] = []
  const unknown = unknownNames(figure)
  if (unknown.length > 0)
    complaints.push(
      `found ${quotedList(unknown)}, expected columns of ${relation.name}: ${quotedList(Object.keys(relation.columns))}`,
    )
  for (const measure of [numerator, denominator, leavesOut && leftOutMeasure(leavesOut)]) {
    const wrong = unsummable(figure, measure)
    if (wrong.length > 0)
      complaints.push(
        `found a sum of ${quotedList(wrong)}, expected cents, hours or counts: declare a ratio by its numerator and its denominator`,
      )
  }
  const columns: Readonly<Record<string, ViewColumn>> = relation.columns
  if (day !== undefined && columns[day] !== undefined && columns[day].kind !== 'day')
    complaints.push(`found the ${columns[day].kind} ${day} as its day, expected a column of days`)
  if (snapshot !== undefined && !snapshotColumns.some((column) => column === snapshot))
    complaints.push(
      `found the snapshot ${snapshot}, expected a column of daily_snapshots: ${quotedList(snapshotColumns)}`,
    )
  if (snapshot !== undefined && !isMoment(figure))
    complaints.push('found a day and a snapshot, expected one of them')
  if (
    (addsUp(figure) || isMoment(figure)) &&
    !denominator &&
    (figure.unit === 'cents') !== name.endsWith('_cents')
  )
    complaints.push(
      `found the unit ${figure.unit} under the name ${name}, expected _cents at the end of what is cents`,
    )
  if (splits !== undefined && !all.some((other) => other.name === splits))
    complaints.push(`found that it splits ${splits}, expected the name of a figure`)
  return complaints
}

/** Everything that is wrong with the figures, one line each, with the file name. */
export const figureComplaints = (all: readonly DeclaredFigure[]): string[] =>
  all.flatMap((figure) =>
    complaintsOf(figure, all).map((complaint) => `schema/figures/${figure.name}.ts: ${complaint}`),
  )
