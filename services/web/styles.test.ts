import { expect } from 'chai'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

const folder = join(import.meta.dirname, 'src/styles')
const physical =
  /(?<![\w-])(?:(?:(?:scroll-)?(?:margin|padding)|border)-(?:left|right|top|bottom)(?:-\w+)?|border-(?:top|bottom)-(?:left|right)-radius|left|right|top|bottom)\s*:|:\s*(?:[^;]*\s)?(?:left|right)(?=[\s;,])|span-(?:left|right)/

/** Values of one, two, three or four sides: the fourth is physical unless it repeats the second. */
function hasPhysicalSides(line: string): boolean {
  const [, list = ''] = /^\s*(?:margin|padding|inset|border-(?:width|color|style)):\s*([^;]+);/.exec(line) ?? []
  const sides = list.match(/[\w.%-]+(?:\((?:[^()]|\([^()]*\))*\))?/g) ?? []
  return sides.length === 4 && sides[1] !== sides[3]
}

const isPhysical = (line: string) => physical.test(line) || hasPhysicalSides(line)

describe('The styles', () => {
  it('name the sides of a line by its start and end, so that a language may be written from right to left', async () => {
    const names = (await readdir(folder)).filter((name) => name.endsWith('.css'))
    const found: string[] = []
    for (const name of names) {
      const rules = (await readFile(join(folder, name), 'utf8')).replace(/\/\*[^]*?\*\//g, (text) =>
        text.replace(/./g, ''),
      )
      const lines = rules.split('\n')
      for (const [index, line] of lines.entries())
        if (isPhysical(line)) found.push(`${name}:${index + 1} ${line.trim()}`)
    }

    expect(names).to.include('base.css')
    expect(found).to.deep.equal([])
  })

  it('are read so that no other form of a side passes', () => {
    const forms = ['margin-left: 0;', 'border-top-right-radius: 1px;', '  left: 0;', 'text-align: right;']
    forms.push(
      'float: left;',
      'padding: 1px 2px 3px calc(2px * 2);',
      'border-left-color: red;',
      'scroll-margin-top: 1px;',
    )
    const logical = [
      'margin-inline-start: 0;',
      'padding: 1px 2px 3px 2px;',
      'inset-inline-end: 0;',
      'text-align: start;',
    ]

    expect(forms.filter((line) => !isPhysical(line))).to.deep.equal([])
    expect(logical.filter(isPhysical)).to.deep.equal([])
  })
})
