import { count } from '../../engine/base/format.js'
import type { ChartUnit } from './chart.js'
import { hoursText, moneyInShort, moneyText, moneyToTheCent, unknownMark } from './numberwords.js'

/* Values of charts as text: in full in tables, in short on axes. */

const inFull: Readonly<Record<ChartUnit, (value: number) => string>> = {
  money: moneyText,
  moneyToTheCent,
  hours: hoursText,
  count,
  percent: (value) => `${value.toFixed(1)} %`,
}

const inShort: Readonly<Record<ChartUnit, (value: number) => string>> = {
  money: moneyInShort,
  moneyToTheCent: moneyInShort,
  hours: count,
  count,
  percent: (value) => `${count(value)} %`,
}

export const cellText = (value: number | null, unit: ChartUnit): string =>
  value === null ? unknownMark : inFull[unit](value)

export const axisText = (value: number, unit: ChartUnit): string => inShort[unit](value)
