# The image of the command: a static binary, run as a user without rights.
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags="-s -w" -o /loopbroker ./cmd/loopbroker

FROM gcr.io/distroless/static-debian12:nonroot
COPY --from=build /loopbroker /loopbroker
USER nonroot:nonroot
ENTRYPOINT ["/loopbroker"]
CMD ["--help"]
