import { expect } from 'chai'
import { emptySelection, findNext, findTarget, groupRows, moveTo, toggle, toggleAll } from './registration-selection.ts'

const order = ['a', 'b', 'c', 'd', 'e']
const selected = (selection: { ids: ReadonlySet<string> }) => [...selection.ids].sort().join('')

describe('The queue of registrations', () => {
  it('moves by the keys of a list, and stays at its ends', () => {
    const targets = ['ArrowDown', 'ArrowUp', 'Home', 'End'].map((key) => findTarget(order, 'c', key))

    expect(targets).to.deep.equal(['d', 'b', 'a', 'e'])
    expect(findTarget(order, 'e', 'ArrowDown')).to.equal('e')
    expect(findTarget(order, 'a', 'ArrowUp')).to.equal('a')
    expect(findTarget(order, null, 'ArrowDown')).to.equal('a')
    expect(findTarget(order, 'c', 'x')).to.equal(null)
    expect(findTarget([], null, 'End')).to.equal(null)
  })

  it('selects a range with Shift, which shrinks on the way back', () => {
    const one = toggle(emptySelection, 'a')
    const start = moveTo(order, one, 'c')
    const wide = moveTo(order, moveTo(order, start, 'd', true), 'e', true)
    const back = moveTo(order, moveTo(order, wide, 'd', true), 'b', true)

    expect([selected(start), selected(wide), selected(back)]).to.deep.equal(['a', 'acde', 'abc'])
    expect(back.current).to.equal('b')
  })

  it('begins a range where the focus was, also when that row is gone', () => {
    expect(selected(moveTo(order, emptySelection, 'b', true))).to.equal('b')
    expect(selected(moveTo(order, { ids: new Set(), current: 'x', anchor: 'x' }, 'b', true))).to.equal('b')
  })

  it('selects and deselects a whole network', () => {
    const all = toggleAll(toggle(emptySelection, 'b'), ['b', 'c'])

    expect(selected(all)).to.equal('bc')
    expect(selected(toggleAll(all, ['b', 'c']))).to.equal('')
  })

  it('goes on to the next row that was not decided', () => {
    expect(findNext(order, 'b', new Set(['b']))).to.equal('c')
    expect(findNext(order, 'd', new Set(['d', 'e']))).to.equal('c')
    expect(findNext(order, 'a', new Set(order))).to.equal(null)
  })

  it('puts networks with few registrations before those with many', () => {
    const rows = [
      { id: '1', network: 'robots', createdAt: 1 },
      { id: '2', network: 'robots', createdAt: 3 },
      { id: '3', network: 'home', createdAt: 2 },
    ]
    const idsOf = (sort: '' | 'oldest' | 'newest') =>
      groupRows(rows, sort).map((group) => group.rows.map(({ id }) => id).join())

    expect(idsOf('')).to.deep.equal(['3', '1,2'])
    expect(idsOf('oldest')).to.deep.equal(['1', '3', '2'])
    expect(idsOf('newest')).to.deep.equal(['2', '3', '1'])
  })
})
