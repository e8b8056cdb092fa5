/* Schedules of a crontab as systemd writes them in a timer. */

const weekdays = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat']
const months = ['', 'jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']

interface Field {
  readonly from: number
  readonly to: number
  readonly names: readonly string[]
}

/** The fields of a crontab: the least and the largest value of each, and the names that stand for values. */
const fields: readonly Field[] = [
  { from: 0, to: 59, names: [] },
  { from: 0, to: 23, names: [] },
  { from: 1, to: 31, names: [] },
  { from: 1, to: 12, names: months },
  { from: 0, to: 7, names: weekdays.map((day) => day.toLowerCase()) },
]

/** The values that a field means, in order; undefined: all. */
function valuesOf(text: string, { from, to, names }: Field): number[] | undefined {
  const numberOf = (word: string): number => {
    const named = names.indexOf(word.toLowerCase())
    return named < 0 ? Number(word) : named
  }
  const values = new Set<number>()
  for (const item of text.split(',')) {
    const [range = '', step] = item.split('/')
    const [first = '', last] = range.split('-')
    const isAll = first === '' || first === '*'
    const begin = isAll ? from : numberOf(first)
    const end = last !== undefined ? numberOf(last) : isAll || step !== undefined ? to : begin
    for (let value = begin; value <= end; value += Number(step ?? 1)) values.add(value)
  }
  const isEvery = values.size === to - from + 1
  return isEvery ? undefined : [...values].sort((a, b) => a - b)
}

/**
 * When a schedule is due, as values of OnCalendar: several if a day has to match only one of two fields, as crontab(5)
 * has it.
 */
export function calendarTimes(schedule: string, zone: string): string[] {
  const words = schedule.trim().split(/\s+/)
  const [minutes, hours, days, month, week] = fields.map((field, i) => valuesOf(words[i] ?? '*', field))
  const listed = (values: readonly number[] | undefined): string =>
    values?.map((value) => String(value).padStart(2, '0')).join(',') ?? '*'
  // Sunday is 0 and 7.
  const ofWeek = new Set(week?.map((day) => weekdays[day % 7] ?? ''))
  const at = (dayOfWeek: string, day: string): string =>
    `${dayOfWeek}*-${listed(month)}-${day} ${listed(hours)}:${listed(minutes)}:00 ${zone}`
  const onWeekdays = ofWeek.size === 0 || ofWeek.size === 7 ? '' : `${[...ofWeek].join(',')} `
  const isEither =
    days !== undefined && onWeekdays !== '' && ![words[2], words[4]].some((word) => word?.startsWith('*'))
  return isEither ? [at('', listed(days)), at(onWeekdays, '*')] : [at(onWeekdays, listed(days))]
}
