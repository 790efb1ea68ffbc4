import { expect } from 'chai'
import fc from 'fast-check'
import { clampView, dragView, initialView, visibleSquare } from './crop-geometry.ts'

const picture = fc.record({ width: fc.integer({ min: 1, max: 9000 }), height: fc.integer({ min: 1, max: 9000 }) })
const view = fc.record({
  zoom: fc.double({ min: 0.1, max: 50, noNaN: true }),
  centerX: fc.double({ min: -9e4, max: 9e4, noNaN: true }),
  centerY: fc.double({ min: -9e4, max: 9e4, noNaN: true }),
})

describe('crop geometry', () => {
  it('starts with the largest square in the middle of the picture', () => {
    expect(visibleSquare({ width: 400, height: 200 }, initialView({ width: 400, height: 200 }))).to.deep.equal({
      left: 100,
      top: 0,
      side: 200,
    })
  })

  it('keeps the square inside the picture for any position and zoom', () => {
    fc.assert(
      fc.property(picture, view, (size, wanted) => {
        const { left, top, side } = visibleSquare(size, clampView(size, wanted))
        expect(left).to.be.at.least(-1e-6)
        expect(top).to.be.at.least(-1e-6)
        expect(left + side).to.be.at.most(size.width + 1e-6)
        expect(top + side).to.be.at.most(size.height + 1e-6)
      }),
    )
  })

  it('moves the square to the left when the picture is dragged to the right', () => {
    const size = { width: 800, height: 400 }

    const after = dragView(size, initialView(size), { x: 50, y: 0 }, 200)

    expect(after.centerX).to.equal(300)
    expect(after.centerY).to.equal(200)
  })
})
