/** Where a square looks at a picture: `zoom` 1 shows as much as covers the square; the centre is in picture pixels. */
export type View = { zoom: number; centreX: number; centreY: number }

export type Picture = { width: number; height: number }

export const maxZoom = 4

/** The view that shows the middle of the picture, as large as it fits. */
export function startView(picture: Picture): View {
  return { zoom: 1, centreX: picture.width / 2, centreY: picture.height / 2 }
}

/** The square of the picture, in its pixels, that a view shows. */
export function visibleSquare(picture: Picture, view: View): { left: number; top: number; side: number } {
  const side = Math.min(picture.width, picture.height) / view.zoom
  return { left: view.centreX - side / 2, top: view.centreY - side / 2, side }
}

/** The nearest view that shows nothing beyond the picture's edges. */
export function keepInside(picture: Picture, view: View): View {
  const zoom = clamp(view.zoom, 1, maxZoom)
  const half = Math.min(picture.width, picture.height) / zoom / 2
  return {
    zoom,
    centreX: clamp(view.centreX, half, picture.width - half),
    centreY: clamp(view.centreY, half, picture.height - half),
  }
}

/** The view after the picture was dragged by so many pixels of a stage that is `stageSide` wide. */
export function dragged(picture: Picture, view: View, by: { x: number; y: number }, stageSide: number): View {
  const scale = visibleSquare(picture, view).side / stageSide
  return keepInside(picture, { ...view, centreX: view.centreX - by.x * scale, centreY: view.centreY - by.y * scale })
}

function clamp(value: number, low: number, high: number): number {
  return Math.min(Math.max(value, low), high)
}
