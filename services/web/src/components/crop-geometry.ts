/** The square that is shown. The center is in picture pixels. */
export type View = { zoom: number; centerX: number; centerY: number }

export type Picture = { width: number; height: number }

export const maxZoom = 4

export function initialView(picture: Picture): View {
  return { zoom: 1, centerX: picture.width / 2, centerY: picture.height / 2 }
}

export function visibleSquare(picture: Picture, view: View): { left: number; top: number; side: number } {
  const side = Math.min(picture.width, picture.height) / view.zoom
  return { left: view.centerX - side / 2, top: view.centerY - side / 2, side }
}

/** The nearest view inside the picture. */
export function clampView(picture: Picture, view: View): View {
  const zoom = clamp(view.zoom, 1, maxZoom)
  const half = Math.min(picture.width, picture.height) / zoom / 2
  return {
    zoom,
    centerX: clamp(view.centerX, half, picture.width - half),
    centerY: clamp(view.centerY, half, picture.height - half),
  }
}

/** `by` and `canvasSide` are in screen pixels. */
export function dragView(picture: Picture, view: View, by: { x: number; y: number }, canvasSide: number): View {
  const scale = visibleSquare(picture, view).side / canvasSide
  return clampView(picture, { ...view, centerX: view.centerX - by.x * scale, centerY: view.centerY - by.y * scale })
}

function clamp(value: number, low: number, high: number): number {
  return Math.min(Math.max(value, low), high)
}
