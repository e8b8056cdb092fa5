/*
 * A chart as an ECharts option. It sets everything that ECharts would decide by itself: margins, so that charts in a
 * row line up; ticks, so that a year is shown where it starts.
 */

import { BarChart, LineChart } from 'echarts/charts'
import { GridComponent } from 'echarts/components'
import { type EChartsCoreOption, init, use } from 'echarts/core'
import { SVGRenderer } from 'echarts/renderers'
import { axisText, type Chart, type ChartColor, type ChartSeries } from '../chart.js'

/*
 * Draws a chart as SVG, on the server and without a browser: ECharts does the layout and writes the text. Colors are
 * variables of the page's style, so one drawing works for light, dark and print.
 */

use([BarChart, LineChart, GridComponent, SVGRenderer])

/** ECharts' drawing only has its size as a viewBox: the page decides how wide it is shown. */
const opening = /^<svg width="\d+" height="\d+"/

export function draw(chart: Chart, size: DrawingSize): string {
  const { width, height } = size
  const instance = init(null, null, { renderer: 'svg', ssr: true, width, height })
  try {
    instance.setOption(optionOf(chart, size))
    return slimmed(instance.renderToSVGString({ useViewBox: true }).replace(opening, '<svg'))
  } finally {
    instance.dispose()
  }
}

/** A drawing for wide columns of the page, and one with a separate layout for phones. */
export interface DrawingSize {
  readonly width: number
  readonly height: number
  readonly isNarrow: boolean
}

const colorOf = (color: ChartColor): string => `var(--${color})`
/** A pattern of the page (src/features/report/page/reportstyle.ts): stripes of the color. */
const hatchOf = (color: ChartColor): string => `url(#hatch-${color})`

const text = (size: number, color = 'var(--muted)') => ({ color, fontSize: size, fontFamily: 'inherit' })

const fontSize = 12

const rule = { show: true, lineStyle: { color: 'var(--rule)', width: 1 } }
const noTicks = { axisTick: { show: false }, splitLine: { show: false } }

function optionOf(chart: Chart, { isNarrow, width }: DrawingSize): EChartsCoreOption {
  const { categories, ticks = categories, unit, isWhole = false } = chart
  const lines = !chart.ticks || ticks.some((tick) => tick.includes('\n')) ? 2 : 1
  return {
    animation: false,
    backgroundColor: 'transparent',
    grid: { left: unit === 'moneyToTheCent' ? 58 : 52, right: 10, top: 12, bottom: 12 + 16 * lines },
    xAxis: {
      type: 'category',
      data: categories,
      axisLine: rule,
      ...noTicks,
      axisLabel: {
        ...text(fontSize),
        interval: (index: number) => ticks[index] !== '',
        formatter: (_: string, index: number) => ticks[index] ?? '',
        lineHeight: 16,
        ...(!chart.ticks && { width: (width - 62) / categories.length - 12, overflow: 'break' as const }),
      },
    },
    yAxis: {
      type: 'value',
      ...(isWhole && { max: 100, interval: 25 }),
      minInterval: unit === 'count' ? 1 : 0,
      splitNumber: isNarrow ? 3 : 4,
      axisLine: { show: false },
      axisTick: { show: false },
      splitLine: rule,
      axisLabel: { ...text(fontSize), formatter: (value: number) => axisText(value, unit) },
    },
    series: chart.series.map((series) =>
      chart.shape === 'lines' || series.isLine ? line(series, chart) : column(series, chart),
    ),
  }
}

/** Series of columns are stacked. */
const column = (series: ChartSeries, chart: Chart) => ({
  type: 'bar',
  name: series.name,
  stack: 'all',
  barCategoryGap: '28%',
  barMaxWidth: 56,
  emphasis: { disabled: true },
  data: series.values.map((value, i) => ({ value, itemStyle: filling(series, chart, i) })),
})

function filling(series: ChartSeries, { partial }: Chart, i: number) {
  const color = series.colors?.[i] ?? series.color
  return partial?.[i]
    ? { color: hatchOf(color), borderColor: colorOf(color), borderWidth: 1 }
    : { color: colorOf(color), borderColor: 'var(--paper)', borderWidth: 0.5 }
}

/** Hollow points are incomplete months. */
const line = (series: ChartSeries, { partial, categories }: Chart) => ({
  type: 'line',
  name: series.name,
  z: 3,
  emphasis: { disabled: true },
  symbol: series.isDashed ? 'none' : 'circle',
  showAllSymbol: true,
  lineStyle: {
    width: 2,
    color: colorOf(series.color),
    ...(series.isDashed && { type: [5, 4] }),
  },
  data: series.values.map((value, i) => ({
    value,
    symbolSize: categories.length > 14 ? 6 : 7,
    itemStyle: {
      color: partial?.[i] ? 'var(--paper)' : colorOf(series.color),
      borderColor: colorOf(series.color),
      borderWidth: partial?.[i] ? 1.5 : 0,
    },
  })),
})

const dot =
  /<path d="M1 0A1 1 0 1 1 1 -0\.1A1 1 0 0 1 1 0" transform="matrix\(([\d.]+),0,0,\1,([-\d.]+),([-\d.]+)\)"([^>]*?) stroke-width="([\d.]+)"/g

const one = (value: string): string => String(Math.round(Number(value) * 10) / 10)

/** Points are drawn as a scaled path, whose outline is scaled with it. */
const asCircle = (_: string, radius: string, x: string, y: string, rest: string, outline: string): string =>
  `<circle cx="${one(x)}" cy="${one(y)}" r="${one(radius)}"${rest} stroke-width="${one(String(Number(outline) * Number(radius)))}"`

/**
 * Makes a drawing by ECharts small: a page has a hundred of them, and most of their text is the same. What is removed
 * here is in the page's style (`.plot`). Every mark keeps the positions of its series (`data-s`) and its category
 * (`data-i`).
 */
const slimmed = (svg: string): string =>
  svg
    .replace(/<style >[\s\S]*?<\/style>/g, '')
    // Nothing is drawn outside the grid, and the clipping path would have the same id in every drawing.
    .replace(/<defs ?>[\s\S]*?<\/defs>/g, '')
    .replace(/ clip-path="url\(#zr\d+-c\d+\)"/g, '')
    .replace(dot, asCircle)
    .replace(/ (?:class="zr\d+-cls-\d+"|pointer-events="visible"|ecmeta_ssr_type="chart")/g, '')
    .replace(/ (?:xmlns:xlink|version|baseProfile|dominant-baseline|stroke-linecap)="[^"]*"/g, '')
    .replaceAll(' style="font-size:12px;font-family:inherit;"', '')
    .replaceAll('ecmeta_series_index=', 'data-s=')
    .replaceAll('ecmeta_data_index=', 'data-i=')
    .replace(/<rect width="\d+" height="\d+" x="0" y="0" fill="none"><\/rect>/, '')
    .replace(/"(M[^"]*)"/g, (path) => path.replace(/\d+\.\d{2,}/g, one))
    .replace(/(translate\()([-\d.]+) ([-\d.]+)\)/g, (_, name, x, y) => `${name}${one(x)} ${one(y)})`)
    .replaceAll(' stroke-width="0"', '')
    // Boxes around texts.
    .replace(/<path d="[^"]*" transform="[^"]*" fill="none"><\/path>/g, '')
    .replace(/ fill="var\(--(\w+)\)" stroke="var\(--paper\)" stroke-width="0\.5"/g, ' class="k-$1"')
    .replace(/ fill="var\(--(\w+)\)" stroke="var\(--\1\)"/g, ' class="d-$1"')
    .replaceAll(' fill="none" stroke="var(--rule)"', ' class="r"')
    .replaceAll(' fill="var(--muted)"', '')
    .replace(/><\/(?:path|circle)>/g, '/>')
    .replace(/\n\s*/g, '')
