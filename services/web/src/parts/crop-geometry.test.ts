import { expect } from 'chai'
import fc from 'fast-check'
import { dragged, keepInside, startView, visibleSquare } from './crop-geometry.ts'

const picture = fc.record({ width: fc.integer({ min: 1, max: 9000 }), height: fc.integer({ min: 1, max: 9000 }) })
const view = fc.record({
  zoom: fc.double({ min: 0.1, max: 50, noNaN: true }),
  centreX: fc.double({ min: -9e4, max: 9e4, noNaN: true }),
  centreY: fc.double({ min: -9e4, max: 9e4, noNaN: true }),
})

describe('the crop of an avatar', () => {
  it('starts with the largest square in the middle', () => {
    expect(visibleSquare({ width: 400, height: 200 }, startView({ width: 400, height: 200 }))).to.deep.equal({
      left: 100,
      top: 0,
      side: 200,
    })
  })

  it('never shows anything beyond the picture, wherever it is dragged and however far it zooms', () => {
    fc.assert(
      fc.property(picture, view, (size, wanted) => {
        const { left, top, side } = visibleSquare(size, keepInside(size, wanted))
        expect(left).to.be.at.least(-1e-6)
        expect(top).to.be.at.least(-1e-6)
        expect(left + side).to.be.at.most(size.width + 1e-6)
        expect(top + side).to.be.at.most(size.height + 1e-6)
      }),
    )
  })

  it('moves with the finger: a drag to the right shows what lies further left', () => {
    const size = { width: 800, height: 400 }

    const after = dragged(size, startView(size), { x: 50, y: 0 }, 200)

    expect(after.centreX).to.equal(300)
    expect(after.centreY).to.equal(200)
  })
})
