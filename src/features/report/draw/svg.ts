/*
 * Draws a chart as SVG, on the server and without a browser: ECharts lays out and writes the text. Colors are variables
 * of the page's style, so that one drawing serves light, dark and paper. Used by src/features/report/page/figure.ts.
 */
import { BarChart, LineChart } from 'echarts/charts'
import { GridComponent } from 'echarts/components'
import { init, use } from 'echarts/core'
import { SVGRenderer } from 'echarts/renderers'
import type { Chart } from '../chart.js'
import { type DrawingSize, optionOf } from './option.js'

use([BarChart, LineChart, GridComponent, SVGRenderer])

/** The size of ECharts' drawing is its viewBox alone: the page decides how wide it is shown. */
const opening = /^<svg width="\d+" height="\d+"/

export function draw(chart: Chart, size: DrawingSize): string {
  const { width, height } = size
  const instance = init(null, null, { renderer: 'svg', ssr: true, width, height })
  try {
    instance.setOption(optionOf(chart, size))
    return instance.renderToSVGString({ useViewBox: true }).replace(opening, '<svg')
  } finally {
    instance.dispose()
  }
}
